// The Swift host of the shared corpus: drives the objects of the core as JSON lines on its input say.
import Foundation
import MCPKeel

#if canImport(Darwin)
import Darwin
#else
import Glibc
#endif

/// Reads whole lines, answers all that are there, writes once.
var host = CorpusHost()
var input: [UInt8] = []
var piece = [UInt8](repeating: 0, count: 1 << 16)
while true {
    let count = read(STDIN_FILENO, &piece, piece.count)
    if count <= 0 { break }
    // Only what is new can end a line.
    var start = 0
    var look = input.count
    input.append(contentsOf: piece[..<count])
    var output = ""
    while let end = input[look...].firstIndex(of: 0x0a) {
        output += host.answer(String(decoding: input[start..<end], as: UTF8.self))
        output += "\n"
        start = end + 1
        look = start
    }
    input.removeFirst(start)
    output.withUTF8 { bytes in
        var done = 0
        while done < bytes.count {
            let count = write(STDOUT_FILENO, bytes.baseAddress! + done, bytes.count - done)
            if count <= 0 { exit(1) }
            done += count
        }
    }
}

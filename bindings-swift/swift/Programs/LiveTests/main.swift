// Tests of the client with servers that are not written in Swift:
// `live-tests [--session] PYTHON FIXTURE -- COMMAND…`, where the command starts the public server of all features. With
// `--session` only those over HTTP, by URLSession.
import Foundation

let isSession = CommandLine.arguments.dropFirst().first == "--session"
let words = Array(CommandLine.arguments.dropFirst(isSession ? 2 : 1))
let parts = words.split(separator: "--", maxSplits: 1).map(Array.init)
guard parts.count == 2, parts[0].count == 2 else {
    FileHandle.standardError.write(Data("usage: live-tests PYTHON FIXTURE -- COMMAND…\n".utf8))
    exit(2)
}
let live = Live(python: parts[0][0], fixture: parts[0], everything: parts[1], stack: isSession ? .session : .automatic)
var (passed, failed) = (0, 0)
for (name, test) in live.tests where !isSession || name.contains("http") {
    do {
        try await within(seconds: 30, test)
        passed += 1
        print("ok      \(name)")
    } catch {
        failed += 1
        print("FAILED  \(name): \(type(of: error)): \(error.localizedDescription)")
    }
}
print("\(passed) passed, \(failed) failed")
exit(failed == 0 ? 0 : 1)

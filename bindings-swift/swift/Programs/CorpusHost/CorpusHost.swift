import Foundation
import KeelFlat
import MCPKeel

/// One object of the core at a time, and the lines that make and call it.
struct CorpusHost {
    private enum Current {
        case none
        case server(FlatServer)
        case client(FlatClient)
        case http1(FlatHttp1)
    }

    private enum Reply {
        case records([FlatRecord])
        case text(String)
    }

    private struct Unknown: Error {}

    private var current = Current.none

    mutating func answer(_ line: String) -> String {
        do {
            let line = try JSON(parsing: line)
            if line["op"] == "new" {
                current = try make(line)
                return #"{"ok":true}"#
            }
            let arguments = Arguments(values: line["args"]?.array ?? [])
            return CorpusHost.shown(try call(line["method"]?.string ?? "", arguments))
        } catch FlatError.Refused(let code, let detail) {
            return JSON.object(["error": ["code": .string(code), "message": .string(detail)]]).description
        } catch {
            return JSON.object(["error": ["code": "host", "message": .string("\(error)")]]).description
        }
    }

    private func make(_ line: JSON) throws -> Current {
        let config = line["config"]?.string ?? ""
        let seed = Data(hex: line["seed"]?.string ?? "")
        return switch line["object"]?.string {
        case "server": .server(try FlatServer(config: config, seed: seed))
        case "client": .client(try FlatClient(config: config, seed: seed))
        case "http1": .http1(try FlatHttp1())
        default: throw Unknown()
        }
    }

    private func call(_ method: String, _ a: Arguments) throws -> Reply {
        switch current {
        case .none: throw Unknown()
        case .server(let server): try call(server, method, a)
        case .client(let client): .records(try call(client, method, a))
        case .http1(let codec): try call(codec, method, a)
        }
    }

    private func call(_ server: FlatServer, _ method: String, _ a: Arguments) throws -> Reply {
        if method == "call_info" { return .text(try server.callInfo(call: a.int(0))) }
        let records = switch method {
        case "set_catalog": try server.setCatalog(catalog: a.text(0), now: a.now)
        case "open": try server.open(stream: a.int(0), transport: a.text(1), now: a.now)
        case "receive": try server.receive(stream: a.int(0), bytes: a.bytes(1), now: a.now)
        case "end": try server.end(stream: a.int(0), now: a.now)
        case "request": try server.request(stream: a.int(0), head: a.text(1), bytes: a.bytes(2), now: a.now)
        case "gone": try server.gone(stream: a.int(0), now: a.now)
        case "respond": try server.respond(call: a.int(0), outcome: a.text(1), now: a.now)
        case "ask": try server.ask(call: a.int(0), key: a.text(1), request: a.text(2), now: a.now)
        case "progress": try server.progress(call: a.int(0), progress: a.text(1), now: a.now)
        case "log": try server.log(call: a.int(0), entry: a.text(1), now: a.now)
        case "publish": try server.publish(change: a.text(0), now: a.now)
        case "timeout": try server.timeout(now: a.now)
        case "close": try server.close(now: a.now)
        default: throw Unknown()
        }
        return .records(records)
    }

    private func call(_ client: FlatClient, _ method: String, _ a: Arguments) throws -> [FlatRecord] {
        switch method {
        case "start": try client.start(now: a.now)
        case "receive": try client.receive(bytes: a.bytes(0), now: a.now)
        case "ended": try client.ended(reason: a.text(0), now: a.now)
        case "response": try client.response(stream: a.int(0), status: a.int(1), headers: a.text(2), now: a.now)
        case "body": try client.body(stream: a.int(0), bytes: a.bytes(1), now: a.now)
        case "end": try client.end(stream: a.int(0), now: a.now)
        case "failed": try client.failed(stream: a.int(0), reason: a.text(1), now: a.now)
        case "request":
            try client.request(handle: a.int(0), method: a.text(1), params: a.text(2), options: a.text(3), now: a.now)
        case "cancel": try client.cancel(handle: a.int(0), reason: a.text(1), now: a.now)
        case "answer": try client.answer(token: a.int(0), outcome: a.text(1), now: a.now)
        case "notify": try client.notify(method: a.text(0), params: a.text(1), now: a.now)
        case "timeout": try client.timeout(now: a.now)
        case "close": try client.close(now: a.now)
        default: throw Unknown()
        }
    }

    private func call(_ codec: FlatHttp1, _ method: String, _ a: Arguments) throws -> Reply {
        switch method {
        case "encode": .text(String(decoding: try codec.encode(name: a.text(0), text: a.text(1)), as: UTF8.self))
        case "receive": .records(try codec.receive(bytes: a.bytes(0)))
        case "finish": .records(try codec.finish())
        case "target": .text(try httpTarget(url: a.text(0)))
        default: throw Unknown()
        }
    }

    private static func shown(_ reply: Reply) -> String {
        switch reply {
        case .text(let text): return JSON.object(["text": .string(text)]).description
        case .records(let records):
            let rows = records.map { record -> JSON in
                let text: JSON = String(data: record.text, encoding: .utf8).map(JSON.string)
                    ?? ["b64": .string(record.text.base64EncodedString())]
                return [
                    .string(record.kind), .integer(record.stream), .integer(record.id), .string(record.name), text, .integer(record.until),
                ]
            }
            return JSON.object(["records": .array(rows)]).description
        }
    }
}

/// The arguments of a call; the time is the last.
private struct Arguments {
    let values: [JSON]

    private struct Missing: Error {}

    private func value(_ at: Int) throws -> JSON {
        guard values.indices.contains(at) else { throw Missing() }
        return values[at]
    }

    var now: Int64 {
        get throws { try int(values.count - 1) }
    }

    func int(_ at: Int) throws -> Int64 {
        guard let number = try value(at).int else { throw Missing() }
        return Int64(number)
    }

    func text(_ at: Int) throws -> String {
        guard let text = try value(at).string else { throw Missing() }
        return text
    }

    func bytes(_ at: Int) throws -> Data {
        let value = try value(at)
        if let text = value["utf8"]?.string { return Data(text.utf8) }
        guard let bytes = value["bytes"]?.string.flatMap({ Data(base64Encoded: $0) }) else { throw Missing() }
        return bytes
    }
}

extension Data {
    fileprivate init(hex: String) {
        var rest = hex[...]
        self.init()
        while let byte = UInt8(rest.prefix(2), radix: 16) {
            append(byte)
            rest = rest.dropFirst(2)
        }
    }
}

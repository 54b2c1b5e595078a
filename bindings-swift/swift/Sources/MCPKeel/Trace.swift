import Foundation

/// Sees a message as JSON text: ">" sent, "<" received. What belongs to one pipe or session has one conversation; 0 is a
/// message that was refused before it belonged to any. A client has one conversation. Called one message after the other,
/// a little later than they were sent or came.
public typealias Trace = @Sendable (_ direction: String, _ message: String, _ conversation: Int) -> Void

/// The user's trace and the journal as one; nil when there is neither.
///
/// With `KEEL_TRACE=FOLDER` in the environment every client and server of this process writes down there what it sends and
/// gets: `ROLE#OBJECT.CONVERSATION > JSON`, a message a line, in a file for each process. Messages hold what users said:
/// for looking into a problem, not for keeping.
func tracer(_ role: String, _ own: Trace?) -> Trace? {
    guard let folder = ProcessInfo.processInfo.environment["KEEL_TRACE"], !folder.isEmpty else { return own }
    let kept = journal(role, folder)
    guard let own else { return kept }
    return { direction, message, conversation in
        kept(direction, message, conversation)
        own(direction, message, conversation)
    }
}

private let objects = Locked(0)

private func journal(_ role: String, _ folder: String) -> Trace {
    let number = objects.with { count in
        count += 1
        return count
    }
    try? FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let path = "\(folder)/\(ProcessInfo.processInfo.processIdentifier).trace"
    return { direction, message, conversation in
        // A line feed in JSON is space between its parts.
        let line = message.replacingOccurrences(of: "\r", with: " ").replacingOccurrences(of: "\n", with: " ")
        guard let file = fopen(path, "a") else { return }
        defer { fclose(file) }
        fputs("\(role)#\(number).\(conversation) \(direction) \(line)\n", file)
    }
}

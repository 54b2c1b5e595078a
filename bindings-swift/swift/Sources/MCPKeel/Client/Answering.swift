/// What the user's handlers answer to requests of the server. What they throw is an answer, too.
func answering(_ options: ClientOptions) -> Answer {
    { method, text in
        do {
            let params = try JSON(parsing: text)
            return outcome(try await answer(method, params, options))
        } catch {
            return errorOutcome(error, code: -32603)
        }
    }
}

private func answer(_ method: String, _ params: JSON, _ options: ClientOptions) async throws -> JSON {
    switch method {
    case "elicitation/create":
        if let fill = options.onElicit { return .object(try await fill(ElicitRequest(params)).json) }
    case "sampling/createMessage":
        if let sample = options.onSample { return .object(try await sample(SampleRequest(params)).json) }
    case "roots/list":
        if let roots = options.roots { return ["roots": .array(try await roots().map { .object($0.json) })] }
    default: break
    }
    throw PeerError("this client does not answer \(method)", rpcCode: -32601)
}

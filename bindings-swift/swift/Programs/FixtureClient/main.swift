// The client of the fixture: runs the checks against a server, one JSON line for each.
import Foundation
import MCPKeel

guard let options = Options(CommandLine.arguments.dropFirst()) else {
    FileHandle.standardError.write(Data("usage: fixture-client --era legacy|modern|auto (--http URL | --stdio -- COMMAND…) [--verbose]\n".utf8))
    exit(2)
}
exit(await Checks(options).run() ? 0 : 1)

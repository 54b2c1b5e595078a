"""A server and a client of the component talk to each other in this process."""

import json
import time

from keel import Keel


def now() -> int:
    return time.monotonic_ns() // 1_000_000


keel = Keel()
server = keel.server(json.dumps({"info": {"name": "adder", "version": "1.0"}}))
client = keel.client(json.dumps({"link": "pipe", "info": {"name": "asker", "version": "1.0"}}))
server.set_catalog(json.dumps({"tools": [{"name": "add", "inputSchema": {"type": "object"}}]}), now())
server.open(1, "pipe", now())

records = client.start(now()) + client.request(7, "tools/call", '{"name":"add","arguments":{"a":2,"b":3}}', "", now())
while records:
    record = records.pop(0)
    match record.kind:
        case "write" if record.stream == 1:
            records += client.receive(record.payload, now())
        case "write":
            records += server.receive(1, record.payload, now())
        case "call":
            total = sum(json.loads(record.payload).values())
            answer = {"result": {"content": [{"type": "text", "text": f"it is {total}"}]}}
            records += server.respond(record.id, json.dumps(answer), now())
        case "ready":
            print("connected to", json.loads(record.payload)["server"]["name"])
        case "result":
            print(json.loads(record.payload)["content"][0]["text"])
            records += client.close(now())
        case "closed" if record.stream == 0:
            print("closed")

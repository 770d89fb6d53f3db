import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { DatabaseSync } from "node:sqlite";

/*
 * The baseline of the benchmark, in a separate process: the minimum work of any server on this file. `/list` and `/chat` send
 * unparsed rows, found by key; `/scan` searches every text of the first chats without an index; `/bytes` sends `size` bytes.
 * Argument: the file of the store.
 */

const [, , path = ""] = process.argv;
const database = new DatabaseSync(path, { readOnly: true });
const list = database.prepare(
  `SELECT summary FROM chats WHERE deleted IS NULL
    ORDER BY pinned DESC, updated DESC, number DESC LIMIT ?`,
);
const chat = database.prepare(
  `SELECT json FROM chats JOIN chat_nodes ON chat_nodes.chat = chats.number WHERE chat_id = ?`,
);
const scan = database.prepare(
  "SELECT count(*) AS found FROM chat_nodes WHERE chat <= ? AND json LIKE ?",
);

const answers: Record<string, (query: URLSearchParams) => string> = {
  "/list": (query) => joined(list.all(Number(query.get("limit"))).map((row) => row["summary"])),
  "/chat": (query) => joined(chat.all(query.get("id")).map((row) => row["json"])),
  "/scan": (query) =>
    JSON.stringify(scan.get(Number(query.get("chats")), `%${query.get("words")}%`)),
  "/bytes": (query) => "x".repeat(Number(query.get("size"))),
};

const server = createServer((request, response) => {
  const { pathname, searchParams } = new URL(request.url ?? "", "http://floor");
  const body = answers[pathname]?.(searchParams);
  response.writeHead(body === undefined ? 404 : 200, { "content-type": "application/json" });
  response.end(body);
});
server.listen({ port: 0, host: "127.0.0.1" }, () =>
  process.send?.({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }),
);
process.on("disconnect", () => process.exit());

function joined(rows: readonly unknown[]): string {
  return `[${rows.join(",")}]`;
}

import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { Hold } from "./hold.ts";

/** `pay` needs approval. `pay` and `record` must not run twice for one entry, `look` changes nothing. */
export type LedgerTool = "pay" | "record" | "look";

/** An MCP server outside of the cluster that counts the effects of its tools. */
export interface Ledger {
  /** The URL for `[mcp.ledger]`. */
  url: string;
  /** Returns how often a tool ran for an entry. */
  count(tool: LedgerTool, entry: string): number;
  /** Total number of tool runs. */
  readonly callCount: number;
  /** Returns the entries for which `pay` or `record` ran more than once. */
  listRepeated(): string[];
  /** Holds the reply of the next call of this tool, after its effect. */
  hold(tool: LedgerTool): Hold;
  close(): Promise<void>;
}

const inputSchema = {
  type: "object",
  properties: { entry: { type: "string" } },
  required: ["entry"],
  additionalProperties: false,
};

const tools = [
  { name: "pay", description: "Pays an invoice.", inputSchema },
  {
    name: "record",
    description: "Adds a line to the ledger.",
    inputSchema,
    annotations: { destructiveHint: false },
  },
  {
    name: "look",
    description: "Returns a line of the ledger.",
    inputSchema,
    annotations: { readOnlyHint: true },
  },
];

/** `getDelayMs` returns how long a call takes after its effect, in milliseconds; default 0. */
export async function startLedger(getDelayMs: () => number = () => 0): Promise<Ledger> {
  const counts = new Map<string, number>();
  const holds = new Map<LedgerTool, Hold>();

  async function call({ name, arguments: { entry } }: ToolCall): Promise<object> {
    const key = `${name} ${entry}`;
    counts.set(key, (counts.get(key) ?? 0) + 1);
    await holds.get(name)?.take();
    await sleep(getDelayMs());
    return { content: [{ type: "text", text: `${name} of ${entry}: done` }] };
  }

  async function reply(request: McpRequest): Promise<object> {
    switch (request.method) {
      case "initialize":
        return {
          protocolVersion: request.params.protocolVersion,
          capabilities: { tools: {} },
          serverInfo: { name: "ledger", version: "1" },
        };
      case "tools/list":
        return { tools };
      case "tools/call":
        return call(request.params);
      default:
        return {};
    }
  }

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const message = JSON.parse(await readText(request)) as McpRequest;
    if (message.id === undefined) {
      response.writeHead(202).end();
      return;
    }
    const result = await reply(message);
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ jsonrpc: "2.0", id: message.id, result }));
  }

  const server = createServer((request, response) => {
    if (request.method === "POST") serve(request, response).catch(() => response.destroy());
    else response.writeHead(405).end();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    count: (tool, entry) => counts.get(`${tool} ${entry}`) ?? 0,
    get callCount() {
      return [...counts.values()].reduce((sum, times) => sum + times, 0);
    },
    listRepeated: () =>
      [...counts]
        .filter(([key, times]) => times > 1 && !key.startsWith("look "))
        .map(([key, times]) => `${key}: ${times} times`),
    hold(tool) {
      const hold = new Hold();
      holds.set(tool, hold);
      return hold;
    },
    async close() {
      const closePromise = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closePromise;
    },
  };
}

type McpRequest = { id?: number } & (
  | { method: "initialize"; params: { protocolVersion: string } }
  | { method: "tools/list" }
  | { method: "tools/call"; params: ToolCall }
  | { method: "ping" }
);

interface ToolCall {
  name: LedgerTool;
  arguments: { entry: string };
}

async function readText(request: IncomingMessage): Promise<string> {
  let text = "";
  for await (const chunk of request.setEncoding("utf8")) text += String(chunk);
  return text;
}

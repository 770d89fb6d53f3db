import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

export interface McpTestServer {
  url: string;
  /** The arguments of each call. */
  receivedArguments: object[];
  close(): Promise<void>;
}

/** A server with one tool, `look`, that returns its arguments. */
export async function startMcpServer(port = 0): Promise<McpTestServer> {
  const receivedArguments: object[] = [];
  const server = createServer((request, response) => {
    if (request.method !== "POST") response.writeHead(405).end();
    let text = "";
    request.on("data", (bytes: Buffer) => (text += bytes.toString()));
    request.on("end", () => {
      if (text === "") return;
      const { id, method, params } = JSON.parse(text) as McpRequest;
      if (method === "tools/call") receivedArguments.push(params?.arguments ?? {});
      const result = buildResult(method, params);
      response.writeHead(id === undefined ? 202 : 200, { "content-type": "application/json" });
      response.end(id === undefined ? "" : JSON.stringify({ jsonrpc: "2.0", id, result }));
    });
  });
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    receivedArguments,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

interface McpRequest {
  id?: number;
  method: string;
  params?: { protocolVersion?: string; arguments?: object };
}

function buildResult(method: string, params: McpRequest["params"]): object {
  switch (method) {
    case "initialize":
      return {
        protocolVersion: params?.protocolVersion,
        capabilities: { tools: {} },
        serverInfo: { name: "look", version: "1" },
      };
    case "tools/list":
      return {
        tools: [
          { name: "look", inputSchema: { type: "object" }, annotations: { readOnlyHint: true } },
        ],
      };
    default:
      return { content: [{ type: "text", text: JSON.stringify(params?.arguments) }] };
  }
}

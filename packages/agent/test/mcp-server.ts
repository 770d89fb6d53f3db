import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import {
  createMcpHandler,
  McpServer,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";
import { serveStdio, StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import { z } from "zod";

/*
 * A real MCP server for the tests: over stdio if run as a program, and over HTTP.
 */

export const png = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);

const longName = `a-tool-with-${"very-".repeat(12)}long-name`;

/** Number of canceled calls of `slow`, in all sessions. */
let cancelled = 0;

export function createToolServer(): McpServer {
  const server = new McpServer(
    { name: "test-tools", version: "1.0.0" },
    {
      instructions: "Add before you look.",
      capabilities: { tools: { listChanged: true }, logging: {} },
    },
  );
  const text = (words: string) => ({ content: [{ type: "text" as const, text: words }] });

  server.registerTool(
    "add",
    {
      description: "Adds two numbers",
      inputSchema: z.object({ a: z.number(), b: z.number() }),
      outputSchema: z.object({ sum: z.number() }),
      annotations: { readOnlyHint: true },
    },
    ({ a, b }) => ({
      content: [{ type: "text", text: JSON.stringify({ sum: a + b }, undefined, 2) }],
      structuredContent: { sum: a + b },
    }),
  );
  server.registerTool("media", { annotations: { idempotentHint: true } }, () => ({
    content: [
      { type: "text", text: "an image and an audio clip" },
      { type: "image", data: png.toString("base64"), mimeType: "image/png" },
      { type: "audio", data: Buffer.from("beep").toString("base64"), mimeType: "audio/wav" },
    ],
  }));
  server.registerTool("documents", { annotations: { destructiveHint: false } }, () => ({
    content: [
      {
        type: "resource",
        resource: { uri: "https://example.com/a.txt", mimeType: "text/plain", text: "the text" },
      },
      {
        type: "resource",
        resource: {
          uri: "file:///srv/report.pdf?page=2",
          mimeType: "application/pdf",
          blob: Buffer.from("%PDF").toString("base64"),
        },
      },
      {
        type: "resource_link",
        uri: "https://example.com/more",
        name: "more",
        title: "More of it",
        description: "The continuation",
      },
    ],
  }));
  server.registerTool("nothing", {}, () => ({ content: [] }));
  server.registerTool("fail", { annotations: { destructiveHint: true } }, () => ({
    isError: true,
    content: [
      { type: "text", text: "the disk is full" },
      { type: "text", text: "free some space" },
    ],
  }));
  server.registerTool(
    "slow",
    { inputSchema: z.object({ ms: z.number() }) },
    async ({ ms }, context) => {
      const { signal, _meta, notify } = context.mcpReq;
      const progressToken = _meta?.progressToken;
      const steps = 4;
      for (let step = 1; step <= steps; step += 1) {
        if (progressToken !== undefined)
          await notify({
            method: "notifications/progress",
            params: { progressToken, progress: step, total: steps, message: `step ${step}` },
          });
        await new Promise((resolve) => setTimeout(resolve, ms / steps));
        if (!signal.aborted) continue;
        cancelled += 1;
        return text("cancelled");
      }
      return text("done");
    },
  );
  server.registerTool(
    "talk",
    { inputSchema: z.object({ lines: z.array(z.unknown()), ms: z.number() }) },
    async ({ lines, ms }, context) => {
      for (const data of lines) {
        const level = data === "details" ? ("debug" as const) : ("info" as const);
        await context.mcpReq.notify({ method: "notifications/message", params: { level, data } });
        await new Promise((resolve) => setTimeout(resolve, ms));
      }
      return text("done");
    },
  );
  server.registerTool("cancelled", {}, () => text(`${cancelled}`));
  server.registerTool("crash", {}, () => {
    process.stderr.write(`out of memory with ${process.env["TOOL_KEY"] ?? "no key"}\n`);
    setTimeout(() => process.exit(3), 10);
    return new Promise<never>(() => undefined);
  });
  server.registerTool(
    "repeat",
    { inputSchema: z.object({ text: z.string() }) },
    ({ text: words }) => ({
      content: [
        { type: "text", text: `received ${words}` },
        { type: "resource", resource: { uri: `https://example.com/?key=${words}`, text: words } },
      ],
      structuredContent: { said: [words], [words]: 1 },
    }),
  );
  server.registerTool(
    "fail_with",
    { inputSchema: z.object({ text: z.string() }) },
    async ({ text: words }, { mcpReq: { _meta, notify } }) => {
      const progressToken = _meta?.progressToken;
      if (progressToken !== undefined)
        await notify({
          method: "notifications/progress",
          params: { progressToken, progress: 1, message: `trying ${words}` },
        });
      return { isError: true, content: [{ type: "text", text: `${words} is wrong` }] };
    },
  );
  server.registerTool("environment", {}, () => text(JSON.stringify(process.env)));
  server.registerTool("processes", {}, () => {
    const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"], {
      stdio: "ignore",
    });
    return text(JSON.stringify([process.pid, child.pid]));
  });
  server.registerTool("grow", {}, () => {
    server.registerTool("grown", { description: "New" }, () => text("I am new"));
    return text("grown");
  });
  server.registerTool("odd.name", {}, () => text("with a dot"));
  server.registerTool("odd_name", {}, () => text("with a line"));
  server.registerTool(longName, {}, () => text("long"));
  return server;
}

export interface HttpServer {
  url: string;
  headers: IncomingMessage["headers"][];
  /** Drops all sessions, like a restarted server. */
  forget(): void;
  close(): Promise<void>;
}

/** `legacy` has sessions, like servers of 2025; `modern` has none and rejects older clients. */
export async function startHttpToolServer(era: "legacy" | "modern", port = 0): Promise<HttpServer> {
  const sessions = new Map<string, WebStandardStreamableHTTPServerTransport>();
  const modern = createMcpHandler(() => createToolServer(), { legacy: "reject" });
  const headers: IncomingMessage["headers"][] = [];
  const withSession = async (request: Request): Promise<Response> => {
    const id = request.headers.get("mcp-session-id");
    if (id !== null) {
      const known = sessions.get(id);
      return known?.handleRequest(request) ?? new Response("no such session", { status: 404 });
    }
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => randomUUID(),
      onsessioninitialized: (sessionId) => void sessions.set(sessionId, transport),
    });
    await createToolServer().connect(transport);
    return transport.handleRequest(request);
  };
  const answer = async (incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> => {
    headers.push(incoming.headers);
    if (incoming.url === "/moved") return void outgoing.writeHead(307, { location: "/mcp" }).end();
    const request = toRequest(incoming, outgoing);
    const response = await (era === "modern" ? modern.fetch(request) : withSession(request));
    outgoing.writeHead(response.status, Object.fromEntries(response.headers));
    outgoing.flushHeaders();
    if (response.body === null) outgoing.end();
    else await pipeline(Readable.fromWeb(response.body), outgoing).catch(() => undefined);
  };
  const server = createServer((incoming, outgoing) => void answer(incoming, outgoing));
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  const { port: actualPort } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${actualPort}/mcp`,
    headers,
    forget: () => sessions.clear(),
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

function toRequest(incoming: IncomingMessage, outgoing: ServerResponse): Request {
  const disconnect = new AbortController();
  outgoing.on("close", () => disconnect.abort());
  const { method = "GET", url = "/" } = incoming;
  const hasBody = method === "POST";
  return new Request(`http://127.0.0.1${url}`, {
    method,
    headers: incoming.headers as Record<string, string>,
    signal: disconnect.signal,
    ...(hasBody ? { body: Readable.toWeb(incoming) as ReadableStream, duplex: "half" } : {}),
  });
}

if (import.meta.main) {
  if (process.argv.includes("modern")) serveStdio(() => createToolServer(), { legacy: "reject" });
  else if (process.argv.includes("dies")) {
    process.stderr.write("no licence\n");
    process.exitCode = 7;
  } else await createToolServer().connect(new StdioServerTransport());
}

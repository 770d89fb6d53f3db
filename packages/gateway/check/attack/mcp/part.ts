import { fileURLToPath } from "node:url";
import { setTimeout as sleep } from "node:timers/promises";
import type { AttackCase, AttackPart } from "../cases.ts";
import { send } from "../client.ts";
import { findEndFaults, findErrorFaults } from "../judge-reply.ts";
import { startScriptedModel } from "../scripted-model.ts";
import { createSecret, SecretScanner } from "../secrets.ts";
import type { Target } from "../target.ts";
import { mcpModes, type McpMode } from "./modes.ts";
import { httpModes, startHttpMcpServer } from "./servers.ts";

const program = fileURLToPath(new URL("servers.ts", import.meta.url));
/** Configured timeout of a call, after which a missing reply ends. */
const callSeconds = 2;
const taskMs = 45_000;

/** Creates tasks whose only tool belongs to a hostile server, over HTTP and over standard input and output. */
export async function createMcpPart(
  token: string,
  isSelected: (name: string) => boolean,
): Promise<AttackPart> {
  const key = createSecret("key of the MCP server");
  const modes = [...mcpModes, ...httpModes];
  const httpServer = await startHttpMcpServer(modes);
  const model = await startScriptedModel();
  const servers = modes.flatMap((mode, index) => [
    {
      name: mode.name,
      group: `http${index}`,
      mode,
      toml: `url = "${httpServer.url(index)}"\nheaders = { authorization = "${key}" }\n`,
    },
    ...(mode.stdio === true
      ? [
          {
            name: `${mode.name}, on standard output`,
            group: `stdio${index}`,
            mode,
            toml: formatStdioToml(index, key),
          },
        ]
      : []),
  ]);
  const selectedServers = servers.filter(({ name }) => isSelected(name));
  return {
    name: "hostile MCP servers",
    toml: [
      `[upstreams.script]\nbase_url = "${model.url}/v1"\nspeaks = "chat"\nmodels = ["m"]\n`,
      ...selectedServers.map(
        ({ group, toml }) =>
          `[mcp.${group}]\napproval = "auto"\ntimeout_seconds = ${callSeconds}\n${toml}`,
      ),
    ].join(""),
    cases: selectedServers.map(({ name, group, mode }) => createCase(name, group, mode, token)),
    // Most of them wait for something that never comes.
    concurrency: 12,
    secrets: new SecretScanner({ "the key of the MCP server": key, "the token": token }),
    async close() {
      await httpServer.close();
      await model.close();
    },
  };
}

function formatStdioToml(index: number, key: string): string {
  const args = JSON.stringify(["--conditions=@deltawire/source", program, String(index)]);
  return `command = ${JSON.stringify(process.execPath)}\nargs = ${args}\nenv = { SERVER_KEY = "${key}" }\n`;
}

function createCase(name: string, group: string, mode: McpMode, token: string): AttackCase {
  return {
    name,
    requests: 10,
    ...(mode.slow === true ? { slow: true } : {}),
    async run(target) {
      const input = JSON.stringify(mode.input ?? {});
      return findTaskFaults(target, token, { model: "script/m", tool_groups: [group], input });
    },
  };
}

/** Starts a task and waits for its end. Returns what went wrong. */
async function findTaskFaults(target: Target, token: string, body: object): Promise<string[]> {
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const startReply = await send(target.url, {
    path: "/api/tasks",
    headers,
    body: JSON.stringify(body),
    // A server may take half a minute to start.
    timeoutMs: taskMs,
  });
  if (startReply.status !== 201)
    return [...findEndFaults(startReply), ...findErrorFaults(startReply)];
  const { task_id } = JSON.parse(startReply.text) as { task_id: string };
  const deadline = Date.now() + taskMs;
  for (;;) {
    const path = `/api/tasks/${task_id}`;
    const reply = await send(target.url, { method: "GET", path, headers });
    if (reply.status !== 200) return [`GET ${path}: ${reply.status} ${reply.text.slice(0, 300)}`];
    const { status } = JSON.parse(reply.text) as { status: string };
    if (["completed", "failed", "canceled"].includes(status)) return [];
    if (Date.now() > deadline) {
      await send(target.url, { path: `${path}/cancel`, headers });
      return [`the task is still ${status} after ${taskMs / 1000} s`];
    }
    await sleep(30);
  }
}

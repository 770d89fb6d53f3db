import { fileURLToPath } from "node:url";
import { setTimeout as sleep } from "node:timers/promises";
import type { AttackCase, Part } from "../cases.ts";
import { send } from "../client.ts";
import { endFaults, errorFaults } from "../judge-reply.ts";
import { scriptedModel } from "../scripted-model.ts";
import { secretFor, SecretWatch } from "../secrets.ts";
import type { Target } from "../target.ts";
import { mcpModes, type McpMode } from "./modes.ts";
import { httpModes, mcpOverHttp } from "./servers.ts";

const program = fileURLToPath(new URL("servers.ts", import.meta.url));
/** Of a call, by configuration; what is never answered ends then. */
const callSeconds = 2;
const taskMs = 45_000;

/** Tasks whose only tool is one of a hostile server, over HTTP and on standard input and output. */
export async function mcpPart(token: string, isWanted: (name: string) => boolean): Promise<Part> {
  const key = secretFor("key of the MCP server");
  const all = [...mcpModes, ...httpModes];
  const overHttp = await mcpOverHttp(all);
  const model = await scriptedModel();
  const servers = all.flatMap((mode, at) => [
    {
      name: mode.name,
      group: `http${at}`,
      mode,
      toml: `url = "${overHttp.url(at)}"\nheaders = { authorization = "${key}" }\n`,
    },
    ...(mode.stdio === true
      ? [
          {
            name: `${mode.name}, on standard output`,
            group: `stdio${at}`,
            mode,
            toml: stdioToml(at, key),
          },
        ]
      : []),
  ]);
  const wanted = servers.filter(({ name }) => isWanted(name));
  return {
    name: "hostile MCP servers",
    toml: [
      `[upstreams.script]\nbase_url = "${model.url}/v1"\nspeaks = "chat"\nmodels = ["m"]\n`,
      ...wanted.map(
        ({ group, toml }) =>
          `[mcp.${group}]\napproval = "auto"\ntimeout_seconds = ${callSeconds}\n${toml}`,
      ),
    ].join(""),
    cases: wanted.map(({ name, group, mode }) => caseOf(name, group, mode, token)),
    // Most of them wait for something that never comes.
    atOnce: 12,
    secrets: new SecretWatch({ "the key of the MCP server": key, "the token": token }),
    async close() {
      await overHttp.close();
      await model.close();
    },
  };
}

function stdioToml(at: number, key: string): string {
  const args = JSON.stringify(["--conditions=@deltawire/source", program, String(at)]);
  return `command = ${JSON.stringify(process.execPath)}\nargs = ${args}\nenv = { SERVER_KEY = "${key}" }\n`;
}

function caseOf(name: string, group: string, mode: McpMode, token: string): AttackCase {
  return {
    name,
    requests: 10,
    ...(mode.slow === true ? { slow: true } : {}),
    async run(target) {
      const input = JSON.stringify(mode.input ?? {});
      return taskFaults(target, token, { model: "script/m", tool_groups: [group], input });
    },
  };
}

/** Starts a task and waits for its end; what went wrong on the way. */
async function taskFaults(target: Target, token: string, body: object): Promise<string[]> {
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const started = await send(target.url, {
    path: "/api/tasks",
    headers,
    body: JSON.stringify(body),
    // A server may take half a minute to start.
    timeoutMs: taskMs,
  });
  if (started.status !== 201) return [...endFaults(started), ...errorFaults(started)];
  const { task_id } = JSON.parse(started.text) as { task_id: string };
  const until = Date.now() + taskMs;
  for (;;) {
    const path = `/api/tasks/${task_id}`;
    const reply = await send(target.url, { method: "GET", path, headers });
    if (reply.status !== 200) return [`GET ${path}: ${reply.status} ${reply.text.slice(0, 300)}`];
    const { status } = JSON.parse(reply.text) as { status: string };
    if (["completed", "failed", "canceled"].includes(status)) return [];
    if (Date.now() > until) {
      await send(target.url, { path: `${path}/cancel`, headers });
      return [`the task is still ${status} after ${taskMs / 1000} s`];
    }
    await sleep(30);
  }
}

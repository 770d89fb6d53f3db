import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startClientProcess, type ClientProcess } from "../clients/client-process.ts";
import { startTestGateway, upstreamToml, type TestGateway } from "../test/test-gateway.ts";
import type { Agent, AgentCommand, AgentPlace } from "./agent.ts";
import { startExchangeProxy, type ExchangeProxy } from "./exchange-proxy.ts";
import { startScriptedModel, type PlanReply, type ScriptedModel } from "./model/scripted-model.ts";
import type { Wire } from "./wires.ts";

/** An agent on a gateway of its own, whose upstream is a scripted model. */
export interface AgentFixture {
  model: ScriptedModel;
  gateway: TestGateway;
  /** Between the agent and the gateway. */
  proxy: ExchangeProxy;
  place: AgentPlace;
  /** Starts the agent with a prompt. */
  start(prompt: string, isResumed?: boolean): Promise<ClientProcess>;
  startCommand(command: AgentCommand): Promise<ClientProcess>;
  /** Returns the ids of the commands that ran, in order. */
  readRanCommands(): Promise<string[]>;
  /** Writes everything that was sent into a file below `artifacts`, and returns its path. */
  saveTraffic(name: string): Promise<string>;
  close(): Promise<void>;
}

const artifacts = join(import.meta.dirname, "..", "..", "..", "artifacts", "agents");

/** The profile of each upstream: the model of the Chat API requires its reasoning, as DeepSeek does. */
const profiles: Partial<Record<Wire, string>> = { chat: "deepseek" };

export async function createAgentFixture(
  agent: Agent,
  speaks: Wire,
  planReply: PlanReply,
): Promise<AgentFixture> {
  const model = await startScriptedModel(planReply);
  const profile = profiles[speaks];
  const gateway = await startTestGateway(
    upstreamToml("up", model.url, {
      speaks,
      api_key: "key-of-the-upstream",
      ...(profile === undefined ? {} : { profile }),
    }),
  );
  const proxy = await startExchangeProxy(gateway.url);
  // Not in the system's temporary folder: Codex warns about a home there.
  await mkdir(artifacts, { recursive: true });
  const home = await mkdtemp(join(artifacts, "home-"));
  const cwd = await mkdtemp(join(tmpdir(), "deltawire-agent-"));
  const place = { url: proxy.url, model: "up/scripted", home, cwd };
  await agent.configure?.(place);
  const startCommand = (command: AgentCommand): Promise<ClientProcess> =>
    startClientProcess({
      name: agent.name,
      ...command,
      timeoutMs: 90_000,
      // Node ignores proxies without this.
      env: { NODE_USE_ENV_PROXY: "1", TERM: "xterm", ...command.env },
      home,
      cwd,
    });
  return {
    model,
    gateway,
    proxy,
    place,
    startCommand,
    start: (prompt, isResumed = false) =>
      startCommand(agent.buildCommand(prompt, place, isResumed)),
    async readRanCommands() {
      const text = await readFile(join(cwd, "ran.txt"), "utf8").catch(() => "");
      return text.split("\n").filter((line) => line !== "");
    },
    async saveTraffic(name) {
      const file = join(artifacts, `${name.replaceAll(/[^\w.-]+/g, "-")}.json`);
      const upstream = model.requests.map(({ path, headers, body }) => ({ path, headers, body }));
      const traffic = { agent: proxy.exchanges, upstream, log: gateway.lines };
      await writeFile(file, JSON.stringify(traffic, null, 1));
      return file;
    },
    async close() {
      await proxy.close();
      await gateway.close();
      await model.close();
      await rm(home, { recursive: true, force: true, maxRetries: 3 });
      await rm(cwd, { recursive: true, force: true, maxRetries: 3 });
    },
  };
}

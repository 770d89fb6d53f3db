import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { runClientProcess, type ClientProcessResult } from "../clients/client-process.ts";
import { testGateway } from "../test/gateway-fixture.ts";
import type { Agent } from "./agent.ts";
import { claudeCodeAgents } from "./programs/claude-code.ts";
import { opencodeAgents } from "./programs/opencode.ts";
import { piAgents } from "./programs/pi.ts";
import { qwenCodeAgents } from "./programs/qwen-code.ts";
import { readSelection } from "./selection.ts";

/** An agent that `deltawire` starts. */
interface Launcher {
  agent: Agent | undefined;
  id: string;
  /** The command of `deltawire`. */
  launch: readonly string[];
  /** Arguments before the prompt. */
  args: readonly string[];
  env: Readonly<Record<string, string>>;
  /** Settings of the user by file, which send requests elsewhere. */
  settings: Readonly<Record<string, object>>;
  /** Hosts that it contacts on its own, whatever its settings are. */
  expectedHosts?: readonly string[];
}

const launchers: readonly Launcher[] = [
  {
    agent: claudeCodeAgents[0],
    id: "claude",
    launch: ["claude"],
    args: ["-p", "--dangerously-skip-permissions"],
    // It refuses to skip permissions as root without this.
    env: { IS_SANDBOX: "1", CLAUDE_CODE_MAX_RETRIES: "1" },
    settings: { ".claude/settings.json": { env: { ANTHROPIC_BASE_URL: "http://127.0.0.1:9" } } },
  },
  {
    agent: piAgents[0],
    id: "pi",
    launch: ["run", "--", "pi"],
    args: ["-p"],
    env: { PI_OFFLINE: "1" },
    settings: {
      ".pi/agent/settings.json": { defaultProvider: "anthropic", defaultModel: "claude-opus-4-5" },
    },
  },
  {
    agent: qwenCodeAgents[0],
    id: "qwen",
    launch: ["run", "--", "qwen"],
    args: ["-y"],
    env: {},
    settings: {
      ".qwen/settings.json": {
        security: { auth: { selectedType: "anthropic" } },
        model: { name: "another" },
        privacy: { usageStatisticsEnabled: false },
        general: { enableAutoUpdate: false },
      },
    },
  },
  {
    agent: opencodeAgents[0],
    id: "opencode",
    launch: ["run", "--", "opencode"],
    args: ["run", "--title", "t"],
    env: { OPENCODE_DISABLE_MODELS_FETCH: "1", OPENCODE_DISABLE_AUTOUPDATE: "1" },
    settings: { ".config/opencode/opencode.json": { model: "anthropic/claude-opus-4-5" } },
    expectedHosts: ["registry.npmjs.org"],
  },
];

const { names, isLong } = readSelection();
const selectedLaunchers = launchers.flatMap((launcher) => {
  const { agent } = launcher;
  if (agent === undefined || (agent.isLong === true && !isLong)) return [];
  return names.length === 0 || names.includes(agent.name)
    ? [{ ...launcher, agent, name: agent.name }]
    : [];
});
const prompt = "run `echo $((6 * 7)) > answer.txt`";
const main = join(import.meta.dirname, "..", "src", "main.ts");

describe.each(selectedLaunchers)(
  "deltawire, with the real $name,",
  ({ agent, id, launch, args, env, settings, expectedHosts = [] }) => {
    /** A home with settings, the agent on the PATH, and a function that runs a command there. */
    async function launcherFixture(files: object) {
      const home = await mkdtemp(join(tmpdir(), "deltawire-launch-"));
      onTestFinished(() => rm(home, { recursive: true, force: true, maxRetries: 3 }));
      const [bin, cwd] = [join(home, "bin"), join(home, "work")];
      await mkdir(bin);
      await mkdir(cwd);
      const words = findProgramWords(agent).map((word) => `'${word}'`);
      const script = `#!/bin/sh\nexec ${words.join(" ")} "$@"\n`;
      await writeFile(join(bin, id), script, { mode: 0o755 });
      for (const [file, value] of Object.entries(files)) {
        await mkdir(join(home, file, ".."), { recursive: true });
        await writeFile(join(home, file), JSON.stringify(value));
      }
      const run = (program: string, commandArguments: readonly string[]) =>
        runClientProcess({
          name: id,
          program,
          commandArguments,
          env: { ...env, TERM: "xterm", PATH: `${bin}${delimiter}${process.env["PATH"]}` },
          home,
          cwd,
          timeoutMs: 120_000,
        });
      const deltawire = (...words: readonly string[]) =>
        run(process.execPath, ["--conditions=@deltawire/source", main, ...words]);
      const readAnswer = () => readFile(join(cwd, "answer.txt"), "utf8").catch(() => "");
      return { home, bin, run, deltawire, readAnswer };
    }

    const listUnexpectedHosts = ({ outside }: ClientProcessResult) =>
      outside.filter((line) => !expectedHosts.some((host) => line.includes(host)));

    test("runs it on the demo, whatever its settings are, and changes none of them", async () => {
      const { home, deltawire, readAnswer } = await launcherFixture(settings);
      const gateway = await testGateway("");
      const result = await deltawire(
        "--port",
        new URL(gateway.url).port,
        ...launch,
        ...args,
        prompt,
      );
      expect(await readAnswer(), result.stdout + result.stderr).toBe("42\n");
      expect([result.exitCode, listUnexpectedHosts(result)]).toEqual([0, []]);
      for (const [file, value] of Object.entries(settings))
        expect(JSON.parse(await readFile(join(home, file), "utf8"))).toMatchObject(value);
    });

    test("connects it permanently: afterwards it works without deltawire", async () => {
      const { bin, run, deltawire, readAnswer } = await launcherFixture(settings);
      const gateway = await testGateway("");
      const port = ["--port", new URL(gateway.url).port];
      const connected = await deltawire(...port, "connect", id, "-m", "demo/clean", "--write");
      expect([connected.exitCode, connected.stdout]).toEqual([
        0,
        expect.stringContaining("Written: "),
      ]);
      const result = await run(join(bin, id), [...args, prompt]);
      expect(await readAnswer(), result.stdout + result.stderr).toBe("42\n");
      expect([result.exitCode, listUnexpectedHosts(result)]).toEqual([0, []]);
    });
  },
);

/** Returns the program file of an agent, after Node if it is a script. */
function findProgramWords(agent: Agent): string[] {
  const place = { url: "", model: "", home: "", cwd: "" };
  const { program, commandArguments } = agent.buildCommand("", place, false);
  return program === process.execPath ? [program, ...commandArguments.slice(0, 1)] : [program];
}

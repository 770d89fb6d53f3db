import { once } from "node:events";
import { createServer } from "node:net";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import { temporaryFolder } from "./deltawire-process.ts";
import { testGateway } from "./gateway-fixture.ts";
import { runCommand } from "./run-command.ts";
import { upstreamToml } from "./test-gateway.ts";

// Processes are started, which takes long on a busy machine.
vi.setConfig({ testTimeout: 60_000 });

interface Report {
  args: string[];
  env: Record<string, string>;
  /** Contents of the files that are named in the arguments or the environment. */
  files: Record<string, string>;
}

/** A folder with programs that write down how they were started, and exit with 3. */
function fakePrograms(names: readonly string[]) {
  const folder = temporaryFolder();
  const reportFile = join(folder, "report.json");
  for (const name of names)
    writeFileSync(
      join(folder, name),
      `#!${process.execPath}
const { readFileSync, statSync, writeFileSync } = require("node:fs");
const args = process.argv.slice(2);
const paths = [...args, ...Object.values(process.env)].filter((text) => /^\\/.*deltawire-.*\\.(json|ts)$/.test(text));
const files = Object.fromEntries(paths.map((path) => [path.replace(/^.*\\//, ""), readFileSync(path, "utf8")]));
for (const path of paths) if ((statSync(path).mode & 0o077) !== 0) throw new Error("others can read " + path);
writeFileSync(${JSON.stringify(reportFile)}, JSON.stringify({ args, env: process.env, files }));
process.exit(3);
`,
      { mode: 0o755 },
    );
  return {
    folder,
    readReport: () => JSON.parse(readFileSync(reportFile, "utf8")) as Report,
  };
}

const toml = `${upstreamToml("up", "http://127.0.0.1:9/v1", { models: ["text-embedding-3", "zai-large", "zai-small"] })}
[models."best"]
use = "up/zai-large"
context_window = 65000
`;

async function runOnGateway(args: string[], env: Record<string, string> = {}, config = toml) {
  const gateway = await testGateway(config);
  const programs = fakePrograms(["claude", "pi", "opencode", "qwen", "my-script"]);
  const { port } = new URL(gateway.url);
  const cwd = temporaryFolder();
  const result = await runCommand(["--port", port, ...args], {
    cwd,
    env: { PATH: programs.folder, HOME: cwd, ...env },
  });
  return { ...result, gateway, ...programs, cwd };
}

describe("deltawire claude", () => {
  test("starts Claude Code on the gateway, with the model for all its names and its context window", async () => {
    const run = await runOnGateway(["claude", "--model", "best", "-p", "say hello"]);
    expect([run.code, run.stderr]).toEqual([3, ""]);
    const { args, env, files } = run.readReport();
    const expected = {
      ANTHROPIC_BASE_URL: run.gateway.url,
      ANTHROPIC_AUTH_TOKEN: "local",
      ANTHROPIC_MODEL: "best",
      ANTHROPIC_DEFAULT_OPUS_MODEL: "best",
      ANTHROPIC_DEFAULT_SONNET_MODEL: "best",
      ANTHROPIC_DEFAULT_HAIKU_MODEL: "best",
      CLAUDE_CODE_MAX_CONTEXT_TOKENS: "65000",
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    };
    expect(env).toMatchObject(expected);
    // The `env` of the user's settings.json would override the environment.
    expect(JSON.parse(files["claude-settings.json"] ?? "")).toMatchObject({ env: expected });
    expect(args).toEqual(["--settings", expect.any(String), "-p", "say hello"]);
  });

  test("changes no file of the user and leaves no temporary file", async () => {
    const leftovers = () =>
      readdirSync(tmpdir()).filter((name) => /^deltawire-[A-Za-z0-9]{6}$/.test(name));
    const before = leftovers();
    const run = await runOnGateway(["claude"]);
    expect(run.code).toBe(3);
    expect(readdirSync(run.cwd)).toEqual([]);
    expect(leftovers().filter((name) => !before.includes(name))).toEqual([]);
  });

  test("uses another model for background work, and the first chat model by default", async () => {
    const chosen = await runOnGateway(["claude", "-m=zai-large", "--small-model", "up/zai-small"]);
    expect(chosen.readReport().env).toMatchObject({
      ANTHROPIC_MODEL: "zai-large",
      ANTHROPIC_DEFAULT_OPUS_MODEL: "zai-large",
      ANTHROPIC_DEFAULT_HAIKU_MODEL: "up/zai-small",
    });
    const demoFirst = `[server]\nport = 0\ndemo = true\n${upstreamToml("up", "http://127.0.0.1:9/v1", { models: ["text-embedding-3", "zai-large"] })}`;
    const byDefault = await runOnGateway(["claude"], {}, demoFirst);
    expect(byDefault.readReport().env["ANTHROPIC_MODEL"]).toBe("up/zai-large");
    const onlyDemo = await runOnGateway(["claude"], {}, "");
    expect(onlyDemo.readReport().env["ANTHROPIC_MODEL"]).toBe("demo/clean");
  });

  test("leaves Claude Code's own names of models, its --settings, and everything after -- to it", async () => {
    const run = await runOnGateway(["claude", "--model", "opus", "--", "--model", "x"]);
    expect(run.readReport().args.slice(2)).toEqual(["--model", "opus", "--", "--model", "x"]);
    const all = await runOnGateway(["claude", "--", "--model", "x", "--version"]);
    expect(all.readReport().args.slice(2)).toEqual(["--model", "x", "--version"]);
    const version = await runOnGateway(["claude", "--version"]);
    expect(version.readReport().args.slice(2)).toEqual(["--version"]);
    const own = await runOnGateway(["claude", "--settings", "mine.json"]);
    expect(own.readReport().args).toEqual(["--settings", "mine.json"]);
  });

  test("does not pass on keys of Anthropic or switches to other providers", async () => {
    const run = await runOnGateway(["claude"], {
      ANTHROPIC_API_KEY: "sk-ant-0123456789",
      CLAUDE_CODE_USE_BEDROCK: "1",
      ANTHROPIC_BASE_URL: "https://elsewhere.example",
    });
    const { env, files } = run.readReport();
    expect(env).not.toHaveProperty("ANTHROPIC_API_KEY");
    expect(env).not.toHaveProperty("CLAUDE_CODE_USE_BEDROCK");
    expect(env["ANTHROPIC_BASE_URL"]).toBe(run.gateway.url);
    expect(JSON.parse(files["claude-settings.json"] ?? "")).toMatchObject({
      env: { ANTHROPIC_API_KEY: "", CLAUDE_CODE_USE_BEDROCK: "" },
    });
  });

  test("says how to install Claude Code, before a gateway is started", async () => {
    const { code, stderr } = await runCommand(["--port", "0", "claude"], { env: { PATH: "/no" } });
    expect([code, stderr]).toEqual([
      127,
      "Claude Code is not installed, or not on the PATH. Install it with: npm install -g @anthropic-ai/claude-code\n",
    ]);
  });

  test("rejects an unknown model with the closest name, and warns about one that no upstream lists", async () => {
    const twoUpstreams = `${toml}${upstreamToml("two", "http://127.0.0.1:9/v1", { models: ["b"] })}`;
    const unknown = await runOnGateway(["claude", "-m", "zai-lagre"], {}, twoUpstreams);
    expect([unknown.code, unknown.stderr]).toEqual([
      2,
      'unknown model "zai-lagre" (did you mean zai-large?). GET /v1/models lists all names.\nThis gateway has best, zai-large, zai-small, b; to list all, run: deltawire models\n',
    ]);
    const oneKey = { ZAI_API_KEY: "key-of-zai-0123456789" };
    const withoutKey = await runOnGateway(["claude", "-m", "zai/glm-4.6"], oneKey, twoUpstreams);
    expect([withoutKey.code, withoutKey.stderr]).toEqual([
      2,
      'unknown upstream "zai": ZAI_API_KEY was not set when the gateway started; set it and restart the gateway, or configure the upstream\nThis gateway has best, zai-large, zai-small, b; to list all, run: deltawire models\n',
    ]);
    const unlisted = await runOnGateway(["claude", "-m", "up/zai-lagre"]);
    expect([unlisted.code, unlisted.stderr]).toEqual([
      3,
      'warning: no upstream lists the model "up/zai-lagre" (did you mean up/zai-large?)\n',
    ]);
    const missing = await runOnGateway(["claude", "-m"]);
    expect([missing.code, missing.stderr]).toEqual([
      2,
      "-m needs the name of a model; the command `models` lists the names\n",
    ]);
  });

  test("warns if the context window of the model is too small for Claude Code", async () => {
    const run = await runOnGateway(["claude", "-m", "demo/small-context"], {}, "");
    expect([run.code, run.stderr]).toEqual([
      3,
      'warning: "demo/small-context" has a context window of 8000 tokens, and Claude Code needs at least 48000; if the model has a larger one, set context_window in [models]\n',
    ]);
  });

  test("warns about a model that is no chat model", async () => {
    const run = await runOnGateway(["claude", "-m", "demo/painter"], {}, "");
    expect([run.code, run.stderr]).toEqual([
      3,
      'warning: "demo/painter" is not a chat model, and Claude Code needs one\n',
    ]);
  });

  test("starts a gateway on the port of --port, with the warnings of `serve`", async () => {
    const closed = await testGateway("");
    const { port } = new URL(closed.url);
    await closed.close();
    const programs = fakePrograms(["claude"]);
    const { code, stderr } = await runCommand(["--port", port, "claude", "-m", "up/m"], {
      env: { PATH: programs.folder },
      toml: upstreamToml("up", "http://127.0.0.1:9/v1", { api_key: "env:UNSET_KEY" }),
    });
    expect(code).toBe(3);
    expect(programs.readReport().env["ANTHROPIC_BASE_URL"]).toBe(`http://127.0.0.1:${port}`);
    expect(stderr).toMatch(/^warning: .*UNSET_KEY.*\n/);
    expect(stderr).toMatch(/^warning: up: could not list models: /m);
    const other = createServer().listen(Number(port), "127.0.0.1");
    await once(other, "listening");
    other.on("connection", (socket) => socket.destroy());
    const blocked = await runCommand(["--port", port, "claude"], {
      env: { PATH: programs.folder },
    });
    other.close();
    expect([blocked.code, blocked.stderr]).toEqual([
      1,
      expect.stringContaining(`port ${port} is in use`),
    ]);
  });

  test("starts a gateway if none is running, and stops it afterwards", async () => {
    const programs = fakePrograms(["claude"]);
    const { code } = await runCommand(["--port", "0", "claude"], {
      env: { PATH: programs.folder },
      toml: "[server]\ndemo = true\n",
    });
    expect(code).toBe(3);
    const url = programs.readReport().env["ANTHROPIC_BASE_URL"] ?? "";
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    await expect(fetch(url)).rejects.toThrow("fetch failed");
  });

  test("passes on the gateway's token only if it is required", async () => {
    const env = { DELTAWIRE_TOKEN: "token-of-mine-0123456789" };
    const open = await runOnGateway(["claude"], env);
    expect(open.readReport().env["ANTHROPIC_AUTH_TOKEN"]).toBe("local");
    const protectedToml = `[server]\nport = 0\ntokens = ["token-of-mine-0123456789"]\n${toml}`;
    const required = await runOnGateway(["claude"], env, protectedToml);
    expect(required.readReport().env["ANTHROPIC_AUTH_TOKEN"]).toBe(env.DELTAWIRE_TOKEN);
    const missing = await runOnGateway(["claude"], {}, protectedToml);
    expect(missing.code).toBe(1);
    expect(missing.stderr).toContain(
      "set DELTAWIRE_TOKEN to one of its tokens or to an access key",
    );
  });

  test("says how to use an access key if the gateway has some", async () => {
    const cwd = temporaryFolder();
    const keys = await runCommand(["keys", "create", "phone"], { cwd });
    expect(keys.code).toBe(0);
    const programs = fakePrograms(["claude"]);
    const run = (env: Record<string, string>) =>
      runCommand(["--port", "0", "claude"], { cwd, env: { PATH: programs.folder, ...env } });
    const withoutKey = await run({});
    expect([withoutKey.code, withoutKey.stderr]).toEqual([
      3,
      expect.stringMatching(
        /^warning: this gateway has access keys, .*deltawire keys create NAME --scopes models.*DELTAWIRE_TOKEN/,
      ),
    ]);
    expect(programs.readReport().env["ANTHROPIC_AUTH_TOKEN"]).not.toBe("local");
  });
});

describe("a gateway that is already running", () => {
  test("is used, with a warning that flags and files with other upstreams have no effect", async () => {
    const gateway = await testGateway(toml);
    const { port } = new URL(gateway.url);
    const { folder } = fakePrograms(["claude", "my-script"]);
    const run = async (args: string[], file?: string) => {
      const cwd = temporaryFolder(file);
      const env = { PATH: folder, HOME: cwd };
      return (await runCommand(["--port", port, ...args], { cwd, env })).stderr;
    };
    const warn = (settings: string, name: string) =>
      `warning: the gateway that is already running at ${gateway.url} is used, and ${settings} no effect on it (upstream ${name}); stop that gateway, or pass another --port\n`;
    const upstream = ["--upstream", "http://127.0.0.1:8/v1"];
    const warning = warn("--upstream has", "local");
    for (const command of [["claude"], ["run", "my-script"], ["connect", "claude"], ["models"]])
      expect(await run([...upstream, ...command])).toBe(warning);
    expect(await run([...upstream, "--profile", "glm", "--speaks", "auto", "claude"])).toBe(
      warn("--upstream, --speaks and --profile have", "local"),
    );
    const other = upstreamToml("other", "http://127.0.0.1:8/v1", { models: ["m"] });
    expect(await run(["claude"], other)).toBe(warn("deltawire.toml has", "other"));
    expect(await run(["--config", "deltawire.toml", "models"], other)).toBe(
      warn("--config has", "other"),
    );
    // The running gateway has the same upstreams.
    expect(await run(["--config", "deltawire.toml", "claude"], toml)).toBe("");
  });
});

describe("deltawire run", () => {
  test("gives any program the variables of the OpenAI and Anthropic libraries", async () => {
    const run = await runOnGateway(["run", "-m", "best", "--", "my-script", "-m", "own", "--help"]);
    expect([run.code, run.stderr]).toEqual([3, ""]);
    const { args, env } = run.readReport();
    expect(args).toEqual(["-m", "own", "--help"]);
    expect(env).toMatchObject({
      OPENAI_BASE_URL: `${run.gateway.url}/v1`,
      OPENAI_API_KEY: "local",
      OPENAI_MODEL: "best",
      ANTHROPIC_BASE_URL: run.gateway.url,
      ANTHROPIC_API_KEY: "local",
      ANTHROPIC_AUTH_TOKEN: "local",
      ANTHROPIC_MODEL: "best",
    });
  });

  test("gives pi an extension with the chat models of the gateway", async () => {
    const run = await runOnGateway(["run", "pi", "hello"]);
    const { args, env, files } = run.readReport();
    const extension = [expect.stringMatching(/\.ts$/), "--provider", "deltawire"];
    expect(args).toEqual(["--extension", ...extension, "--model", "best", "hello"]);
    expect(env["DELTAWIRE_TOKEN"]).toBe("local");
    const text = files["deltawire.ts"] ?? "";
    expect(text).toContain(`"baseUrl":"${run.gateway.url}/v1"`);
    expect(text).toContain('"id":"best"');
    expect(text).toContain('"contextWindow":65000');
    expect(text).not.toContain("text-embedding-3");
    const own = await runOnGateway(["run", "pi", "--model", "zai-small"]);
    expect(own.readReport().args.slice(2)).toEqual([
      "--provider",
      "deltawire",
      "--model",
      "zai-small",
    ]);
    const subcommand = await runOnGateway(["run", "pi", "list"]);
    expect(subcommand.readReport().args).toEqual(["list"]);
  });

  test("gives opencode a configuration in its environment, without the token", async () => {
    const env = { DELTAWIRE_TOKEN: "token-of-mine-0123456789" };
    const protectedToml = `[server]\nport = 0\ntokens = ["token-of-mine-0123456789"]\n${toml}`;
    const run = await runOnGateway(
      ["run", "-m", "best", "--small-model", "zai-small", "opencode"],
      env,
      protectedToml,
    );
    const report = run.readReport();
    expect(report.args).toEqual([]);
    expect(report.env["DELTAWIRE_TOKEN"]).toBe(env.DELTAWIRE_TOKEN);
    const text = report.env["OPENCODE_CONFIG_CONTENT"] ?? "";
    expect(text).not.toContain(env.DELTAWIRE_TOKEN);
    expect(JSON.parse(text)).toMatchObject({
      model: "deltawire/best",
      small_model: "deltawire/zai-small",
      provider: {
        deltawire: {
          options: { baseURL: `${run.gateway.url}/v1`, apiKey: "{env:DELTAWIRE_TOKEN}" },
          models: { best: { limit: { context: 65000, output: 16250 } }, "zai-small": {} },
        },
      },
    });
  });

  test("gives qwen flags that take precedence over its settings, unless the user sets them", async () => {
    const run = await runOnGateway(["run", "-m", "best", "qwen", "-y", "hello"]);
    const { args, env, files } = run.readReport();
    const baseUrl = `${run.gateway.url}/v1`;
    const flags = ["--auth-type", "openai", "--openai-base-url", baseUrl, "--model", "best"];
    expect(args).toEqual([...flags, "-y", "hello"]);
    expect(env).toMatchObject({ OPENAI_BASE_URL: baseUrl, OPENAI_API_KEY: "local" });
    expect(JSON.parse(files["qwen-defaults.json"] ?? "")).toEqual({
      model: { generationConfig: { contextWindowSize: 65000 } },
    });
    const own = await runOnGateway(["run", "qwen", "--auth-type=anthropic"]);
    expect(own.readReport().args).not.toContain("--auth-type");
    expect((await runOnGateway(["run", "qwen", "mcp", "list"])).readReport().args).toEqual([
      "mcp",
      "list",
    ]);
  });

  test("reports a missing program, a missing name and unknown flags", async () => {
    const run = async (...args: string[]) => {
      const { code, stderr } = await runCommand(["--port", "0", "run", ...args], {
        env: { PATH: "/no" },
      });
      return [code, stderr];
    };
    expect(await run("--", "no-such-program")).toEqual([
      127,
      "program not found: no-such-program\n",
    ]);
    expect(await run("opencode")).toEqual([
      127,
      "opencode is not installed, or not on the PATH. Install it with: npm install -g opencode-ai\n",
    ]);
    expect(await run("codex")).toEqual([127, expect.stringContaining("@openai/codex")]);
    expect(await run()).toEqual([2, expect.stringContaining("run needs a program")]);
    expect(await run("--modle", "x", "pi")).toEqual([
      2,
      expect.stringContaining("unknown flag --modle"),
    ]);
  });

  test("bypasses a proxy of the environment for the gateway", async () => {
    const run = await runOnGateway(["run", "my-script"], { HTTP_PROXY: "http://proxy.example" });
    expect(run.readReport().env).toMatchObject({ NO_PROXY: "127.0.0.1,localhost" });
  });
});

import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { parse } from "smol-toml";
import { describe, expect, test } from "vitest";
import { temporaryFolder } from "./deltawire-process.ts";
import { testGateway } from "./gateway-fixture.ts";
import { runCommand } from "./run-command.ts";
import { upstreamToml } from "./test-gateway.ts";

const toml = `${upstreamToml("zai", "http://127.0.0.1:9/v1", { models: ["glm-4.6", "glm-4.5-air"] })}
[models."small window"]
use = "zai/glm-4.6"
context_window = 65000
`;

/** A home with files, and the command in it, on a running gateway. */
async function connectFixture(files: Record<string, string> = {}, config = toml) {
  const gateway = await testGateway(config);
  const home = temporaryFolder();
  const put = (name: string, text: string) => {
    mkdirSync(dirname(join(home, name)), { recursive: true });
    writeFileSync(join(home, name), text);
  };
  for (const [name, text] of Object.entries(files)) put(name, text);
  const { port } = new URL(gateway.url);
  const connect = (args: string[], env: Record<string, string> = {}) =>
    runCommand(["--port", port, "connect", ...args], { cwd: home, env });
  const read = (name: string) => readFileSync(join(home, name), "utf8");
  return { gateway, home, connect, put, read };
}

describe("deltawire connect claude", () => {
  test("shows the changes of settings.json without writing them", async () => {
    const before = '{\n  "env": {\n    "MY_API_KEY": "verysecret"\n  }\n}\n';
    const { gateway, connect, read } = await connectFixture({ ".claude/settings.json": before });
    const { code, stdout, stderr } = await connect(["claude", "-m", "zai/glm-4.6"]);
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toBe(`--- .claude/settings.json
+++ .claude/settings.json
@@ -1,5 +1,14 @@
 {
   "env": {
-    "MY_API_KEY": "…"
+    "MY_API_KEY": "…",
+    "ANTHROPIC_BASE_URL": "${gateway.url}",
+    "ANTHROPIC_AUTH_TOKEN": "local",
+    "ANTHROPIC_MODEL": "zai/glm-4.6",
+    "ANTHROPIC_DEFAULT_OPUS_MODEL": "zai/glm-4.6",
+    "ANTHROPIC_DEFAULT_SONNET_MODEL": "zai/glm-4.6",
+    "ANTHROPIC_DEFAULT_FABLE_MODEL": "zai/glm-4.6",
+    "ANTHROPIC_DEFAULT_HAIKU_MODEL": "zai/glm-4.6",
+    "CLAUDE_CODE_MAX_CONTEXT_TOKENS": "200000",
+    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"
   }
 }

Nothing has been written. To apply the changes, add --write.
`);
    expect(read(".claude/settings.json")).toBe(before);
  });

  test("with --write keeps the rest, the mode and a backup, and a second time changes nothing", async () => {
    const before = '{\n\t// mine\n\t"permissions": {"allow": []},\n}\n';
    const { home, connect, read } = await connectFixture({ ".claude/settings.json": before });
    chmodSync(join(home, ".claude/settings.json"), 0o640);
    const args = ["claude", "-m", "small window", "--small-model", "glm-4.5-air", "--write"];
    const { code, stdout } = await connect(args);
    expect(code).toBe(0);
    expect(stdout).toContain(
      "Written: .claude/settings.json\nBackup: .claude/settings.json.before-deltawire\n",
    );
    const after = read(".claude/settings.json");
    expect(after).toContain('\t// mine\n\t"permissions": {"allow": []},\n\t"env": {\n');
    expect(after).toContain('"ANTHROPIC_DEFAULT_HAIKU_MODEL": "glm-4.5-air"');
    expect(after).toContain('"CLAUDE_CODE_MAX_CONTEXT_TOKENS": "65000"');
    expect(read(".claude/settings.json.before-deltawire")).toBe(before);
    expect(statSync(join(home, ".claude/settings.json")).mode & 0o777).toBe(0o640);
    const again = await connect(args);
    expect(again.stdout).toBe(
      "Nothing to do: .claude/settings.json already contains these settings.\n",
    );
    expect(read(".claude/settings.json")).toBe(after);
    expect(existsSync(join(home, ".claude/settings.json.before-deltawire-2"))).toBe(false);
  });

  test("warns about a key that Claude Code would send to the gateway, and does not change it", async () => {
    const { connect, read } = await connectFixture({
      "other/settings.json": '{ "env": { "ANTHROPIC_API_KEY": "sk-ant-0123456789" } }',
    });
    const args = ["claude", "--write"];
    const { stdout } = await connect(args, { CLAUDE_CONFIG_DIR: "other" });
    expect(stdout).toMatch(/^Note:\n {2}- Remove ANTHROPIC_API_KEY from "env": /m);
    expect(stdout).not.toContain("sk-ant");
    expect(read("other/settings.json")).toContain("sk-ant-0123456789");
    expect((await connect(args, { CLAUDE_CONFIG_DIR: "other" })).stdout).toContain(
      "Remove ANTHROPIC_API_KEY",
    );
  });

  test("warns about a small context window and about a model that is no chat model", async () => {
    const { connect } = await connectFixture({}, "");
    const small = await connect(["claude", "-m", "demo/small-context"]);
    expect([small.code, small.stderr]).toEqual([
      0,
      expect.stringMatching(
        /^warning: "demo\/small-context" has a context window of 8000 tokens, /,
      ),
    ]);
    for (const agent of ["claude", "codex"]) {
      const { code, stderr } = await connect([agent, "-m", "demo/painter"]);
      const name = agent === "claude" ? "Claude Code" : "Codex";
      const warning = `warning: "demo/painter" is not a chat model, and ${name} needs one\n`;
      expect([code, stderr]).toEqual([0, warning]);
    }
  });

  test("leaves a file that it cannot parse unchanged", async () => {
    const { home, connect, read } = await connectFixture({ ".claude/settings.json": '{ "env": ' });
    expect(await connect(["claude", "--write"])).toEqual({
      code: 1,
      stdout: "",
      stderr: ".claude/settings.json:1: is no valid JSON: expected a JSON value\n",
    });
    expect(read(".claude/settings.json")).toBe('{ "env": ');
    expect(existsSync(join(home, ".claude/settings.json.before-deltawire"))).toBe(false);
    const { code, stdout } = await connect(["claude", "--write", "--json"]);
    expect([code, JSON.parse(stdout)]).toEqual([
      1,
      { error: expect.stringContaining("no valid JSON") },
    ]);
  });

  test("writes a token only if the gateway requires one and the user has set it", async () => {
    const { connect, read } = await connectFixture(
      {},
      `[server]\nport = 0\ntokens = ["token-of-mine-0123456789"]\n${toml}`,
    );
    const env = { DELTAWIRE_TOKEN: "token-of-mine-0123456789" };
    const written = await connect(["claude", "--write"], env);
    expect(written.stdout).toContain('+    "ANTHROPIC_AUTH_TOKEN": "…"');
    expect(written.stdout).not.toContain(env.DELTAWIRE_TOKEN);
    expect(read(".claude/settings.json")).toContain(env.DELTAWIRE_TOKEN);
    const open = await connectFixture();
    expect((await open.connect(["claude", "--write"], env)).code).toBe(0);
    expect(open.read(".claude/settings.json")).not.toContain(env.DELTAWIRE_TOKEN);
  });

  test("of a gateway with access keys asks for a key before it writes", async () => {
    const cwd = temporaryFolder();
    expect((await runCommand(["keys", "create", "phone"], { cwd })).code).toBe(0);
    const shown = await runCommand(["connect", "claude", "--port", "4991"], { cwd });
    expect(shown.stdout).toContain("http://127.0.0.1:4991");
    expect(shown.stderr).toBe(
      "warning: this gateway requires a token: before --write, set DELTAWIRE_TOKEN to the one that Claude Code should use, for example an access key from `deltawire keys create claude --scopes models`\n",
    );
    expect(shown.stdout).toContain("Claude Code needs the gateway to run: deltawire\n");
    const { code, stderr } = await runCommand(["connect", "claude", "--write"], { cwd });
    expect([code, stderr]).toEqual([
      2,
      "this gateway requires a token: set DELTAWIRE_TOKEN to the one that Claude Code should use, for example an access key from `deltawire keys create claude --scopes models`\n",
    ]);
    expect(existsSync(join(cwd, ".claude"))).toBe(false);
  });
});

describe("deltawire connect", () => {
  test("codex adds the provider to config.toml and leaves the rest", async () => {
    const before = '# mine\nmodel = "gpt-5" # old\n\n[features]\nx = true\n';
    const { gateway, connect, read } = await connectFixture({ ".codex/config.toml": before });
    expect((await connect(["codex", "-m", "zai/glm-4.6", "--write"])).code).toBe(0);
    const after = read(".codex/config.toml");
    expect(after).toBe(`# mine
model = "zai/glm-4.6" # old
model_provider = "deltawire"

[features]
x = true

[model_providers.deltawire]
name = "Deltawire"
base_url = "${gateway.url}/v1"
wire_api = "responses"
experimental_bearer_token = "local"
model_catalog_url = "${gateway.url}/v1/models"
`);
    expect((await connect(["codex", "-m", "zai/glm-4.6"])).stdout).toContain("Nothing to do");
    const other = await connect(["codex", "-m", "glm-4.5-air"]);
    expect(other.stdout).toContain('-model = "zai/glm-4.6" # old\n+model = "glm-4.5-air" # old\n');
  });

  test("codex works on every form of config.toml, and refuses what it cannot edit", async () => {
    const { connect, put, read } = await connectFixture();
    for (const before of [
      "",
      "[features]\nx = true",
      'model_providers.deltawire.name = "Mine"\n',
      'approval_policy = "never"\r\n\r\n[model_providers.deltawire]\r\nname = "Mine"\r\n',
      'model_providers = { deltawire = { name = "D", wire_api = "chat" } }\n',
    ]) {
      put(".codex/config.toml", before);
      const { code, stderr } = await connect(["codex", "-m", "zai/glm-4.6", "--write"]);
      expect([before, code, stderr]).toEqual([before, 0, ""]);
      expect(parse(read(".codex/config.toml"))).toMatchObject({
        ...(parse(before)["features"] === undefined ? {} : { features: { x: true } }),
        model: "zai/glm-4.6",
        model_provider: "deltawire",
        model_providers: { deltawire: { name: "Deltawire", wire_api: "responses" } },
      });
      expect((await connect(["codex", "-m", "zai/glm-4.6"])).stdout).toContain("Nothing to do");
    }
    put(".codex/config.toml", "a = = b\n");
    const invalid = await connect(["codex", "--write"]);
    expect([invalid.code, invalid.stderr]).toEqual([
      1,
      expect.stringMatching(/^\.codex\/config\.toml:1/),
    ]);
    expect(read(".codex/config.toml")).toBe("a = = b\n");
  });

  test("codex says that migrate is needed while another provider speaks Chat", async () => {
    const { connect } = await connectFixture({
      ".codex/config.toml": '[model_providers.zai]\nname = "Z"\nwire_api = "chat"\n',
    });
    expect((await connect(["codex"])).stdout).toMatch(/Codex does not start .*\(zai\).*migrate/);
  });

  test("pi, opencode and qwen get their own settings, and what they have stays", async () => {
    const { gateway, connect, read } = await connectFixture({
      ".pi/agent/models.json": '{"providers": {"ollama": {"apiKey": "x"}}}',
      ".config/opencode/opencode.jsonc": '{\n  // mine\n  "theme": "dark"\n}\n',
      ".qwen/settings.json": '{"model": {"name": "old"}}',
    });
    const baseUrl = `${gateway.url}/v1`;
    for (const agent of ["pi", "opencode", "qwen"]) {
      const args = [agent, "-m", "small window", "--small-model", "glm-4.5-air", "--write"];
      const { code, stdout } = await connect(args);
      expect([agent, code, stdout]).toEqual([agent, 0, expect.stringContaining("Written: ")]);
      expect((await connect(args)).stdout).toContain("Nothing to do");
    }
    expect(JSON.parse(read(".pi/agent/models.json"))).toMatchObject({
      providers: {
        ollama: { apiKey: "x" },
        deltawire: { baseUrl, models: [{ id: "small window", contextWindow: 65000 }] },
      },
    });
    expect(JSON.parse(read(".pi/agent/settings.json"))).toEqual({
      defaultProvider: "deltawire",
      defaultModel: "small window",
    });
    const opencode = read(".config/opencode/opencode.jsonc");
    expect(opencode).toMatch(/^\{\n {2}\/\/ mine\n {2}"theme": "dark",\n/);
    expect(JSON.parse(opencode.replace("// mine", ""))).toMatchObject({
      model: "deltawire/small window",
      small_model: "deltawire/glm-4.5-air",
      provider: {
        deltawire: {
          options: { baseURL: baseUrl, apiKey: "local" },
          models: { "small window": { limit: { context: 65000 } }, "glm-4.5-air": {} },
        },
      },
    });
    expect(JSON.parse(read(".qwen/settings.json"))).toEqual({
      model: { name: "small window", generationConfig: { contextWindowSize: 65000 } },
      security: { auth: { selectedType: "openai", baseUrl, apiKey: "local" } },
    });
  });

  test("lists the agents, and suggests the closest name and the closest model", async () => {
    const { connect } = await connectFixture();
    expect((await connect([])).stdout).toMatch(/^ {2}claude +Claude Code$/m);
    const unknownAgent = await connect(["cluade"]);
    expect([unknownAgent.code, unknownAgent.stderr]).toEqual([
      2,
      expect.stringContaining('unknown agent "cluade" (did you mean claude?)'),
    ]);
    expect((await connect(["claude", "pi"])).stderr).toBe('unexpected argument "pi"\n');
  });

  test("prints JSON with --json", async () => {
    const { home, connect } = await connectFixture();
    const { stdout } = await connect(["claude", "--json", "--write"]);
    expect(JSON.parse(stdout)).toEqual({
      changes: [
        {
          file: join(home, ".claude/settings.json"),
          diff: expect.stringContaining("+++ .claude/settings.json"),
        },
      ],
      notes: [],
      written: true,
      backups: [],
    });
  });
});

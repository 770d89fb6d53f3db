import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { parse } from "smol-toml";
import { startTestGateway } from "./test-gateway.ts";

let home = "";
afterEach(() => rm(home, { recursive: true, force: true }));

async function codexPage(codexConfig: string | undefined, headers: Record<string, string> = {}) {
  home = await mkdtemp(join(tmpdir(), "deltawire-codex-"));
  await mkdir(join(home, ".codex"));
  if (codexConfig !== undefined) await writeFile(join(home, ".codex", "config.toml"), codexConfig);
  const hostEnvironment = { cwd: home, home, env: {}, platform: "linux" as const };
  const gateway = await startTestGateway("", { hostEnvironment });
  const reply = await fetch(`${gateway.url}/deltawire/connect`, { headers });
  const page = (await reply.json()) as Record<string, unknown>;
  await gateway.close();
  return { gateway, page };
}

/** The text of the settings to paste. */
function getBlock(page: Record<string, unknown>): string {
  const [file] = page["files"] as [{ file: string; text: string }];
  return file.text;
}

/** The reply for an agent, on a gateway whose user has these files. */
async function connectPage(query: string, files: Record<string, string> = {}, toml = "") {
  home = await mkdtemp(join(tmpdir(), "deltawire-connect-"));
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(home, name)), { recursive: true });
    await writeFile(join(home, name), text);
  }
  const hostEnvironment = { cwd: "/nowhere", home, env: {}, platform: "linux" as const };
  const gateway = await startTestGateway(toml, { hostEnvironment });
  const headers = { authorization: "Bearer token-of-mine-0123456789" };
  const reply = await fetch(`${gateway.url}/deltawire/connect${query}`, { headers });
  const page = (await reply.json()) as Record<string, unknown>;
  await gateway.close();
  return { gateway, status: reply.status, page };
}

test("the settings of Claude Code are shown with the chosen model, and what connect would change, without keys", async () => {
  const before = '{\n  "env": {\n    "SOME_KEY": "verysecret"\n  }\n}\n';
  const { gateway, page } = await connectPage("?agent=claude&model=demo/small-context", {
    ".claude/settings.json": before,
  });
  const { port } = new URL(gateway.url);
  expect(page).toMatchObject({
    agent: "claude",
    agents: expect.arrayContaining([{ id: "claude", name: "Claude Code" }]),
    model: "demo/small-context",
    command: `deltawire --port ${port} claude -m demo/small-context`,
    connect_command: `deltawire --port ${port} connect claude -m demo/small-context --write`,
    files: [{ file: "~/.claude/settings.json" }],
    settings: { status: "possible", changes: [{ file: "~/.claude/settings.json" }], notes: [] },
  });
  expect(JSON.parse(getBlock(page))).toMatchObject({
    env: {
      ANTHROPIC_BASE_URL: gateway.url,
      ANTHROPIC_AUTH_TOKEN: "local",
      CLAUDE_CODE_MAX_CONTEXT_TOKENS: "8000",
    },
  });
  expect(page).not.toHaveProperty("migration");
  expect(JSON.stringify(page)).not.toContain("verysecret");
  expect(await readFile(join(home, ".claude/settings.json"), "utf8")).toBe(before);
});

test("every agent has a command, settings and a preview", async () => {
  const { page } = await connectPage("");
  const agents = page["agents"] as { id: string }[];
  expect(agents.map(({ id }) => id)).toEqual(["codex", "claude", "pi", "opencode", "qwen"]);
  for (const { id } of agents) {
    const { status, page: one } = await connectPage(`?agent=${id}&model=demo/clean`);
    expect([id, status]).toEqual([id, 200]);
    expect(one).toMatchObject({ agent: id, settings: { status: "possible" } });
    expect(one["command"]).toMatch(id === "codex" || id === "claude" ? / -m / : / run -m .* -- /);
    expect(getBlock(one)).toContain("127.0.0.1");
  }
});

test("a gateway that requires a token shows a placeholder, never a token", async () => {
  const toml = '[server]\nport = 0\ntokens = ["token-of-mine-0123456789"]\n';
  const { page } = await connectPage("?agent=claude", {}, toml);
  expect(page["token_required"]).toBe(true);
  expect(getBlock(page)).toContain('"YOUR TOKEN"');
  expect(JSON.stringify(page)).not.toContain("token-of-mine");
});

test("settings that cannot be parsed are reported, and an unknown agent is rejected", async () => {
  const broken = await connectPage("?agent=qwen", { ".qwen/settings.json": "{" });
  expect(broken.page["settings"]).toEqual({
    status: "impossible",
    reason: expect.stringContaining("~/.qwen/settings.json:1: is no valid JSON"),
  });
  const unknown = await connectPage("?agent=cluade");
  expect([unknown.status, unknown.page]).toMatchObject([
    400,
    { error: { param: "agent", message: expect.stringContaining("(did you mean claude?)") } },
  ]);
});

test("the block to paste is valid TOML that connects Codex to this gateway, with its first model", async () => {
  const { gateway, page } = await codexPage(undefined);
  expect(parse(getBlock(page))).toEqual({
    model: page["model"],
    model_provider: "deltawire",
    model_providers: {
      deltawire: {
        name: "Deltawire",
        base_url: `${gateway.url}/v1`,
        wire_api: "responses",
        experimental_bearer_token: "local",
        model_catalog_url: `${gateway.url}/v1/models`,
      },
    },
  });
  const { port } = new URL(gateway.url);
  expect(page["command"]).toBe(`deltawire --port ${port} codex -m ${String(page["model"])}`);
  expect(page).toMatchObject({ token_required: false, migration: { status: "not_needed" } });
});

test("behind an HTTPS proxy the block contains the URL of the proxy", async () => {
  for (const [proto, scheme] of [
    ["https", "https"],
    ["HTTPS, http", "https"],
    ["http, https", "http"],
  ] as const) {
    const { gateway, page } = await codexPage(undefined, { "x-forwarded-proto": proto });
    const url = gateway.url.replace(/^http/, scheme);
    expect([proto, page["url"]]).toEqual([proto, url]);
    expect(getBlock(page)).toContain(`base_url = "${url}/v1"`);
  }
});

test("an unsupported provider is shown as a diff without its key, and no file is written", async () => {
  const secret = "sk-verysecretkey123456";
  const config = `model_provider = "zai"\n\n[model_providers.zai]\nname = "Z"\nbase_url = "https://api.z.ai/api/paas/v4"\nwire_api = "chat"\nexperimental_bearer_token = "${secret}"\n`;
  const { page } = await codexPage(config);
  const text = JSON.stringify(page);
  expect(page["migration"]).toMatchObject({ status: "possible", file: ".codex/config.toml" });
  expect(text).toContain('-wire_api = \\"chat\\"');
  expect(text).not.toContain(secret);
});

test("an unreadable configuration is reported, without an error status", async () => {
  const { page } = await codexPage("this is = = no toml");
  expect(page["migration"]).toMatchObject({ status: "impossible" });
});

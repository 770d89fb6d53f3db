import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
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
  const reply = await fetch(`${gateway.url}/deltawire/codex`, { headers });
  const page = (await reply.json()) as Record<string, unknown>;
  await gateway.close();
  return { gateway, page };
}

test("the block to paste is valid TOML that connects Codex to this gateway, with its first model", async () => {
  const { gateway, page } = await codexPage(undefined);
  expect(parse(page["block"] as string)).toEqual({
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
    expect(page["block"]).toContain(`base_url = "${url}/v1"`);
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

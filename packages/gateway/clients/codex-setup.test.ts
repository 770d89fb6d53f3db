import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { startDemoServer } from "@deltawire/demo";
import { testGateway, gatewayFixture } from "../test/gateway-fixture.ts";
import { upstreamToml } from "../test/test-gateway.ts";
import { sendError, streamText } from "../test/scripted-upstream.ts";
import { startCodex } from "./codex-fixture.ts";

test("the block that the page shows is all that Codex needs", async () => {
  const gateway = await testGateway("");
  const page = await (await fetch(gateway.url)).text();
  const block = /<pre>(model = [^]*?)<\/pre>/.exec(page)?.[1] ?? "";
  const codex = await startCodex(gateway, "", { config: block.replaceAll("&quot;", '"') });
  const turn = await codex.exec("Good morning");
  expect(turn.messages).toEqual([expect.stringContaining("> Good morning")]);
  expect(turn.items.filter(({ type }) => type === "error")).toEqual([]);
});

test("a model that its upstream does not list is known to Codex if the catalog is requested with it", async () => {
  const { gateway, upstream } = await gatewayFixture(({ path }, response) =>
    path.endsWith("/models")
      ? sendError(response, 404, { message: "no" })
      : streamText(response, "Hello."),
  );
  const codex = await startCodex(gateway, "up/unlisted", { catalog: "?model=up/unlisted" });
  const turn = await codex.exec("Good morning");
  expect(turn.messages).toEqual(["Hello."]);
  expect(turn.items.filter(({ type }) => type === "error")).toEqual([]);
  const tools = upstream.requests.at(-1)?.body["tools"];
  expect(JSON.stringify(tools)).toContain("apply_patch");
});

test("an unknown model is rejected with a suggestion", async () => {
  const { gateway: first } = await gatewayFixture((_, response) => streamText(response, "Hello."));
  const gateway = await testGateway(
    upstreamToml("one", `${first.url}/v1`, { models: ["clever-7b"] }) +
      upstreamToml("two", `${first.url}/v1`, { models: ["other"] }),
  );
  const codex = await startCodex(gateway, "clevr-7b", { provider: "request_max_retries = 0" });
  const turn = await codex.exec("Good morning");
  expect(turn.errors.at(-1)).toMatch(/unknown model "clevr-7b" \(did you mean clever-7b\?\)/);
  expect(turn.exitCode).toBe(1);
});

test('Codex itself rejects wire_api = "chat", with the message that the gateway quotes', async () => {
  const gateway = await testGateway("");
  const codex = await startCodex(gateway, "demo/clean", { wire: "chat" });
  const turn = await codex.exec("Good morning");
  expect(turn.exitCode).toBe(1);
  expect(turn.stderr).toContain('`wire_api = "chat"` is no longer supported');
});

/** The configuration of a user of Codex's Chat wire. */
const oldConfig = (url: string) => `# mine
model = "stop-with-calls"
model_provider = "lab"

[model_providers.lab]
name = "Lab"
base_url = "${url}"
env_key = "LAB_KEY" # never in this file
wire_api = "chat"
`;

test("deltawire codex runs Codex on the demo, with a configuration that Codex rejects and that stays unchanged", async () => {
  const codex = await startCodex({ url: "" }, "", {
    config: oldConfig("http://127.0.0.1:1/v1"),
    byDeltawire: ["--port", "0"],
  });
  const file = join(codex.home, "config.toml");
  const before = await readFile(file, "utf8");
  const turn = await codex.exec("run `echo $((6 * 7))`", "--model", "demo/stop-with-calls");
  expect(turn.messages.at(-1)).toBe("`exec_command` answered: 42");
  expect(turn.exitCode).toBe(0);
  expect(turn.outside).toEqual([]);
  expect(await readFile(file, "utf8")).toBe(before);
});

test("after deltawire migrate --write, Codex works on the gateway with the written files", async () => {
  const demo = await startDemoServer();
  onTestFinished(() => demo.close());
  const codex = await startCodex({ url: "" }, "", { config: oldConfig(demo.url) });
  const file = join(codex.home, "config.toml");
  const main = join(import.meta.dirname, "..", "src", "main.ts");
  await promisify(execFile)(
    process.execPath,
    ["--conditions=@deltawire/source", main, "migrate", file, "--write"],
    { cwd: codex.cwd, env: { PATH: process.env["PATH"], HOME: codex.home } },
  );
  const written = join(codex.home, ".config", "deltawire", "deltawire.toml");
  const gateway = await testGateway(await readFile(written, "utf8"), {
    env: { LAB_KEY: "secret" },
  });
  const migrated = await readFile(file, "utf8");
  expect(migrated).toContain("# never in this file");
  // A test can choose only the port.
  await writeFile(file, migrated.replaceAll("http://127.0.0.1:4141", gateway.url));
  const turn = await codex.exec("run `echo $((6 * 7))`");
  expect(turn.messages.at(-1)).toBe("`exec_command` answered: 42");
  expect(turn.items.filter(({ type }) => type === "error")).toEqual([]);
  expect(demo.requests.at(-1)?.headers.authorization).toBe("Bearer secret");
});

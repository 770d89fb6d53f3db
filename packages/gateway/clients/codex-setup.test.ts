import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { startDemo } from "@deltawire/demo";
import { aGateway, scene } from "../test/scene.ts";
import { upstreamToml } from "../test/running-gateway.ts";
import { refuse, says } from "../test/scripted-upstream.ts";
import { codexOn } from "./codex-scene.ts";

test("the block that the page shows is all that Codex needs", async () => {
  const gateway = await aGateway("");
  const page = await (await fetch(gateway.url)).text();
  const block = /<pre>(model = [^]*?)<\/pre>/.exec(page)?.[1] ?? "";
  const codex = await codexOn(gateway, "", { config: block.replaceAll("&quot;", '"') });
  const turn = await codex.exec("Good morning");
  expect(turn.messages).toEqual([expect.stringContaining("> Good morning")]);
  expect(turn.items.filter(({ type }) => type === "error")).toEqual([]);
});

test("a model that its upstream does not list is known to Codex if the catalogue is asked for it", async () => {
  const { gateway, upstream } = await scene(({ path }, response) =>
    path.endsWith("/models") ? refuse(response, 404, { message: "no" }) : says(response, "Hello."),
  );
  const codex = await codexOn(gateway, "up/unlisted", { catalog: "?model=up/unlisted" });
  const turn = await codex.exec("Good morning");
  expect(turn.messages).toEqual(["Hello."]);
  expect(turn.items.filter(({ type }) => type === "error")).toEqual([]);
  const tools = upstream.requests.at(-1)?.body["tools"];
  expect(JSON.stringify(tools)).toContain("apply_patch");
});

test("a model that no upstream has is refused with a name that is near", async () => {
  const { gateway: first } = await scene((_, response) => says(response, "Hello."));
  const gateway = await aGateway(
    upstreamToml("one", `${first.url}/v1`, { models: ["clever-7b"] }) +
      upstreamToml("two", `${first.url}/v1`, { models: ["other"] }),
  );
  const codex = await codexOn(gateway, "clevr-7b", { provider: "request_max_retries = 0" });
  const turn = await codex.exec("Good morning");
  expect(turn.errors.at(-1)).toMatch(/there is no model "clevr-7b": did you mean clever-7b\?/);
  expect(turn.exitCode).toBe(1);
});

test("Codex itself refuses the Chat wire, in the words that the gateway uses too", async () => {
  const gateway = await aGateway("");
  const codex = await codexOn(gateway, "demo/clean", { wire: "chat" });
  const turn = await codex.exec("Good morning");
  expect(turn.exitCode).toBe(1);
  expect(turn.stderr).toContain('`wire_api = "chat"` is no longer supported');
});

/** What a user of Codex's old wire has. */
const oldConfig = (url: string) => `# mine
model = "stop-with-calls"
model_provider = "lab"

[model_providers.lab]
name = "Lab"
base_url = "${url}"
env_key = "LAB_KEY" # never in this file
wire_api = "chat"
`;

test("deltawire codex runs Codex on the demo, with a configuration that Codex refuses and that stays as it is", async () => {
  const codex = await codexOn({ url: "" }, "", {
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

test("after deltawire migrate --write, Codex works on the gateway with the files that it wrote", async () => {
  const demo = await startDemo();
  onTestFinished(() => demo.close());
  const codex = await codexOn({ url: "" }, "", { config: oldConfig(demo.url) });
  const file = join(codex.home, "config.toml");
  const main = join(import.meta.dirname, "..", "src", "main.ts");
  await promisify(execFile)(
    process.execPath,
    ["--conditions=@deltawire/source", main, "migrate", file, "--write"],
    { cwd: codex.cwd, env: { PATH: process.env["PATH"], HOME: codex.home } },
  );
  const written = join(codex.home, ".config", "deltawire", "deltawire.toml");
  const gateway = await aGateway(await readFile(written, "utf8"), {
    env: { LAB_KEY: "secret" },
  });
  const migrated = await readFile(file, "utf8");
  expect(migrated).toContain("# never in this file");
  // The port is the only thing that a test has to choose for itself.
  await writeFile(file, migrated.replaceAll("http://127.0.0.1:4141", gateway.url));
  const turn = await codex.exec("run `echo $((6 * 7))`");
  expect(turn.messages.at(-1)).toBe("`exec_command` answered: 42");
  expect(turn.items.filter(({ type }) => type === "error")).toEqual([]);
  expect(demo.requests.at(-1)?.headers.authorization).toBe("Bearer secret");
});

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import { version } from "../src/version.ts";
import { startDeltawire, temporaryFolder } from "./deltawire-process.ts";
import { upstreamToml } from "./test-gateway.ts";
import { testUpstream, helloChat } from "./gateway-fixture.ts";
import { streamText } from "./scripted-upstream.ts";

// Processes are started, which takes long on a busy machine.
vi.setConfig({ testTimeout: 90_000 });

describe("serve, as a process,", () => {
  test("prints its URL and the next step, without colors if it is not a terminal", async () => {
    const cwd = temporaryFolder();
    const gateway = startDeltawire(["--port", "0"], { cwd });
    const url = await gateway.url;
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
    expect((await fetch(url)).status).toBe(200);
    await fetch(`${url}/v1/chat/completions`, {
      method: "POST",
      body: JSON.stringify({ ...helloChat, model: "demo/clean", stream: false }),
    }).then((response) => response.json());
    gateway.child.kill("SIGTERM");
    expect(await gateway.ended).toBe(0);
    expect(gateway.stdout()).toContain(`is listening on ${url}`);
    expect(gateway.stdout()).toMatch(/demo model answers/);
    expect(gateway.stdout() + gateway.stderr()).not.toContain("\u001b");
    const lines = gateway
      .stderr()
      .split("\n")
      .filter((line) => line.startsWith("{"));
    expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject([
      {
        msg: "request",
        path: "/v1/chat/completions",
        model: "demo/clean",
        status: 200,
        upstream: "demo",
      },
    ]);
  });

  test("prints one line of JSON for programs, and nothing else on standard output", async () => {
    const cwd = temporaryFolder(
      `[models]\nfast = "up/m"\n[agents.helper]\nmodel = "fast"\n${upstreamToml("up", "http://127.0.0.1:9/v1", { api_key: "env:NOT_SET" })}`,
    );
    const gateway = startDeltawire(["serve", "--json", "--port=0"], { cwd });
    const url = await gateway.url;
    gateway.child.kill("SIGINT");
    expect(await gateway.ended).toBe(0);
    expect(JSON.parse(gateway.stdout())).toEqual({
      url,
      version,
      source: { kind: "file", path: join(cwd, "deltawire.toml") },
      upstreams: ["up"],
      models: ["fast"],
      agents: ["helper"],
    });
    expect(gateway.stderr()).toMatch(/warning: .*NOT_SET/);
  });

  test("prints its agents, if there are any", async () => {
    const agents =
      '[agents.reviewer]\nmodel = "demo/clean"\n[agents.helper]\nmodel = "demo/clean"\n';
    const gateway = startDeltawire(["--port", "0"], { cwd: temporaryFolder(agents) });
    const list = (await (await fetch(`${await gateway.url}/v1/models`)).json()) as {
      data: { id: string; owned_by: string }[];
    };
    gateway.child.kill("SIGTERM");
    expect(await gateway.ended).toBe(0);
    expect(gateway.stdout()).toMatch(/^  agents {5}reviewer, helper$/m);
    expect(gateway.stdout()).toMatch(/^  tasks {6}http:.*\/api\/tasks$/m);
    expect(gateway.stdout()).toMatch(/^  chats {6}http:.*\/api\/chats$/m);
    expect(gateway.stdout()).toMatch(/^  store {6}.*deltawire\.db$/m);
    const owned = list.data.filter(({ owned_by: owner }) => owner === "deltawire-agent");
    expect(owned.map(({ id }) => id)).toEqual(["reviewer", "helper"]);
  });

  test("uses an upstream from the command line, with its key from the named variable", async () => {
    const upstream = await testUpstream((_request, response) => streamText(response, "fine"));
    const cwd = temporaryFolder();
    const gateway = startDeltawire(
      ["--upstream", upstream.url, "--speaks", "auto", "--api-key-env", "MY_KEY", "--port", "0"],
      { cwd, env: { MY_KEY: "key-from-the-environment" } },
    );
    const url = await gateway.url;
    const response = await fetch(`${url}/v1/chat/completions`, {
      method: "POST",
      body: JSON.stringify({ ...helloChat, model: "any-model" }),
    });
    expect(response.status).toBe(200);
    await response.text();
    expect(upstream.requests[0]?.headers.authorization).toBe("Bearer key-from-the-environment");
    gateway.child.kill("SIGTERM");
    await gateway.ended;
    expect(gateway.stdout()).toMatch(/^  upstreams +local \(auto\)$/m);
    expect(gateway.stdout() + gateway.stderr()).not.toContain("key-from-the-environment");
  });

  test("exits with 2 if the configuration is invalid, before it listens", async () => {
    const cwd = temporaryFolder();
    writeFileSync(join(cwd, "wrong.toml"), "[server]\nport = 'x'\n");
    const gateway = startDeltawire(["--config", "wrong.toml"], { cwd });
    expect(await gateway.ended).toBe(2);
    expect(gateway.stderr()).toMatch(/wrong\.toml:2:/);
    expect(gateway.stdout()).toBe("");
  });
});

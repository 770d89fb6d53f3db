import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import { version } from "../src/version.ts";
import { deltawire, temporaryFolder } from "./deltawire-process.ts";
import { upstreamToml } from "./running-gateway.ts";
import { anUpstream, helloChat } from "./scene.ts";
import { says } from "./scripted-upstream.ts";

// Processes are started, and the machine may be busy.
vi.setConfig({ testTimeout: 90_000 });

describe("serve, as a process,", () => {
  test("greets with the address and the next step, in plain text where nobody watches", async () => {
    const cwd = temporaryFolder();
    const gateway = deltawire(["--port", "0"], { cwd });
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

  test("says it all in one line of JSON for programs, and nothing else on standard output", async () => {
    const cwd = temporaryFolder(
      `[models]\nfast = "up/m"\n[agents.helper]\nmodel = "fast"\n${upstreamToml("up", "http://127.0.0.1:9/v1", { api_key: "env:NOT_SET" })}`,
    );
    const gateway = deltawire(["serve", "--json", "--port=0"], { cwd });
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

  test("greets with its agents, where there are some", async () => {
    const agents =
      '[agents.reviewer]\nmodel = "demo/clean"\n[agents.helper]\nmodel = "demo/clean"\n';
    const gateway = deltawire(["--port", "0"], { cwd: temporaryFolder(agents) });
    const list = (await (await fetch(`${await gateway.url}/v1/models`)).json()) as {
      data: { id: string; owned_by: string }[];
    };
    gateway.child.kill("SIGTERM");
    expect(await gateway.ended).toBe(0);
    expect(gateway.stdout()).toMatch(/^  agents {5}reviewer, helper$/m);
    expect(gateway.stdout()).toMatch(/^  tasks {6}http:.*\/api\/tasks$/m);
    expect(gateway.stdout()).toMatch(/^  chats {6}http:.*\/api\/chats$/m);
    expect(gateway.stdout()).toMatch(/^  kept {7}in .*deltawire\.db$/m);
    const owned = list.data.filter(({ owned_by: owner }) => owner === "deltawire-agent");
    expect(owned.map(({ id }) => id)).toEqual(["reviewer", "helper"]);
  });

  test("takes an upstream from the command line, and its key from the variable that is named", async () => {
    const upstream = await anUpstream((_request, response) => says(response, "fine"));
    const cwd = temporaryFolder();
    const gateway = deltawire(
      ["--upstream", upstream.url, "--api-key-env", "MY_KEY", "--port", "0"],
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
    expect(gateway.stdout() + gateway.stderr()).not.toContain("key-from-the-environment");
  });

  test("ends with 2 for a configuration that is wrong, before it listens", async () => {
    const cwd = temporaryFolder();
    writeFileSync(join(cwd, "wrong.toml"), "[server]\nport = 'x'\n");
    const gateway = deltawire(["--config", "wrong.toml"], { cwd });
    expect(await gateway.ended).toBe(2);
    expect(gateway.stderr()).toMatch(/wrong\.toml:2:/);
    expect(gateway.stdout()).toBe("");
  });
});

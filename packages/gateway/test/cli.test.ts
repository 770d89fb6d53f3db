import { createServer } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { describe, expect, test, vi } from "vitest";
import { readArguments } from "../src/cli/arguments.ts";
import { commandNames } from "../src/cli/options.ts";
import { run } from "../src/cli/run.ts";
import { version } from "../src/version.ts";
import { deltawire, temporaryFolder } from "./deltawire-process.ts";
import { upstreamToml } from "./running-gateway.ts";
import { aGateway, anUpstream, helloChat } from "./scene.ts";
import { refuse, says } from "./scripted-upstream.ts";

// Processes are started, and the machine may be busy.
vi.setConfig({ testTimeout: 90_000 });

interface Ran {
  code: number;
  stdout: string;
  stderr: string;
}

/** The command in this process, in a folder of its own. */
async function ran(
  args: string[],
  { toml, env = {} }: { toml?: string; env?: Record<string, string> } = {},
): Promise<Ran> {
  const cwd = temporaryFolder(toml);
  const out = { stdout: "", stderr: "" };
  const code = await run(args, {
    cwd,
    env,
    home: cwd,
    platform: "linux",
    stdout: { write: (text) => void (out.stdout += text) },
    stderr: { write: (text) => void (out.stderr += text) },
  });
  return { code, ...out };
}

describe("the words of a command line", () => {
  const flags = { json: false };

  test("serve without any", () => {
    expect(readArguments([])).toEqual({ name: "serve", flags });
    expect(readArguments(["serve"])).toEqual({ name: "serve", flags });
  });

  test("may stand before the command or behind it, and be written in every usual way", () => {
    const expected = { name: "models", flags: { json: true, port: "99", host: "::1" } };
    for (const line of [
      "--json --port 99 --host ::1 models",
      "models -p 99 --host=::1 --json",
      "--port=99 models --json --host ::1",
    ])
      expect(readArguments(line.split(" "))).toEqual(expected);
  });

  test("are not taken for a command where they are a flag's value", () => {
    expect(readArguments(["--profile", "models"])).toMatchObject({
      name: "serve",
      flags: { profile: "models" },
    });
    expect(readArguments(["--config", "codex", "lessons", "--reset"])).toMatchObject({
      name: "lessons",
      flags: { config: "codex" },
      reset: true,
    });
  });

  test("behind codex and migrate belong to them", () => {
    expect(
      readArguments(["--port", "99", "codex", "exec", "--json", "--help", "x y"]),
    ).toMatchObject({
      name: "codex",
      flags: { port: "99", json: false },
      args: ["exec", "--json", "--help", "x y"],
    });
    expect(readArguments(["migrate", "a.toml", "--write"])).toMatchObject({
      name: "migrate",
      args: ["a.toml", "--write"],
    });
  });
});

describe("help and version", () => {
  test.each([["--help"], ["-h"], ["help"]])(
    "%s lists the commands and flags, with 0",
    async (word) => {
      const { code, stdout, stderr } = await ran([word]);
      expect([code, stderr]).toEqual([0, ""]);
      for (const part of [...commandNames, "--upstream", "--json", "COMMAND --help", "4141"])
        expect(stdout).toContain(part);
    },
  );

  test.each(commandNames)(
    "%s has a help of its own: usage, its flags only, examples",
    async (command) => {
      const { code, stdout, stderr } = await ran([command, "--help"]);
      expect([code, stderr]).toEqual([0, ""]);
      for (const args of [
        [command, "-h"],
        ["help", command],
        ["--help", command],
      ])
        expect((await ran(args)).stdout).toBe(stdout);
      expect(stdout).toMatch(/^Usage: deltawire .*\n/);
      expect(stdout).toContain(command);
      expect(stdout).toMatch(/\nExamples:\n {2}deltawire/);
      expect(stdout.includes("--reset")).toBe(command === "lessons");
      expect(stdout.includes("--write ")).toBe(command === "migrate");
      for (const line of stdout.split("\n")) expect(line.length).toBeLessThanOrEqual(120);
    },
  );

  test("a help in the repository is written as it is typed there", async () => {
    const { stdout } = await ran(["models", "--help"], { env: { npm_lifecycle_event: "start" } });
    expect(stdout).toContain("npm start -- models");
    expect(stdout).not.toContain("deltawire models");
    const serve = await ran(["serve", "--help"], { env: { npm_lifecycle_event: "start" } });
    expect(serve.stdout).toMatch(/^ {2}npm start$/m);
  });

  test("flags of Codex that are not in the first place are Codex's", () => {
    expect(readArguments(["codex", "exec", "--help"])).toMatchObject({ name: "codex" });
    expect(readArguments(["codex", "exec", "-v"])).toMatchObject({ name: "codex" });
  });

  test("no line of the help is too long for a terminal", async () => {
    const { stdout } = await ran(["--help"]);
    for (const line of stdout.split("\n")) expect(line.length).toBeLessThanOrEqual(120);
  });

  test("--version is the version alone", async () => {
    expect(await ran(["--version"])).toEqual({ code: 0, stdout: `${version}\n`, stderr: "" });
    for (const word of ["-V", "-v"]) expect((await ran([word])).stdout).toBe(`${version}\n`);
    for (const command of commandNames)
      for (const word of ["--version", "-V", "-v"])
        expect((await ran([command, word])).stdout).toBe(`${version}\n`);
  });
});

describe("what was typed or written wrongly ends with 2 and a sentence that helps:", () => {
  test.each([
    [["serv"], /no command "serv".*serve/],
    [["model"], /models/],
    // npm takes a flag that stands before "--" and passes on its value only.
    [["4302"], /npm keeps flags .* Write: npm start -- --port 4302$/m],
    [["http://127.0.0.1:1/v1"], /Write: npm start -- --upstream http:\/\/127\.0\.0\.1:1\/v1$/m],
    [["xyzzy"], /no command "xyzzy".*--help/],
    [["--prot", "99"], /--prot.*--port/],
    [["--jsn"], /--json/],
    [["--port"], /--port/],
    [["serve", "now"], /now/],
    [["models", "--reset"], /models takes no --reset; lessons does/],
    [["help", "modls"], /no command "modls".*models/],
    [["--port", "99999"], /--port.*65535/],
    [["--port", "x"], /--port/],
    [["--upstream", "nonsense"], /--upstream.*https:\/\//],
    [["--upstream", "https://a.example/v1", "--speaks", "chatt"], /--speaks.*chat/],
    [["--upstream", "https://a.example/v1", "--profile", "deepsek"], /--profile.*deepseek/],
    [["--config", "missing.toml"], /missing\.toml does not exist/],
    [["--host", "0.0.0.0"], /tokens/],
  ])("%j", async (args, message) => {
    const { code, stdout, stderr } = await ran(args);
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toMatch(message);
    expect(stderr).not.toMatch(/\n\s+at /);
    expect(stderr.trim().split("\n")).toHaveLength(1);
  });

  test("a configuration, with its file and line", async () => {
    const { code, stderr } = await ran(["models"], {
      toml: '[server]\nprot = 1\n[upstreams.a]\nbase_url = "https://a.example"\nspeaks = "chatt"\n',
    });
    expect(code).toBe(2);
    expect(stderr).toMatch(/deltawire\.toml:2: .*port/);
    expect(stderr).toMatch(/deltawire\.toml:5: .*chat/);
  });
});

describe("a port that is in use", () => {
  test("ends with 1, says so, and how to choose another", async () => {
    const taken = createServer();
    taken.listen(0, "127.0.0.1");
    await once(taken, "listening");
    const { port } = taken.address() as AddressInfo;
    const { code, stderr } = await ran(["--port", String(port)]);
    taken.close();
    expect(code).toBe(1);
    expect(stderr).toContain(`port ${port} is in use`);
    expect(stderr).toContain("--port");
    expect(stderr).not.toMatch(/\n\s+at /);
  });

  test("ends the process, the demo included", async () => {
    const gateway = await aGateway("[server]\nport = 0\ndemo = true\n");
    const second = deltawire(["--port", new URL(gateway.url).port], { cwd: temporaryFolder() });
    expect(await second.ended).toBe(1);
  });

  test("by something that is no gateway is not mistaken for one, and gets no token", async () => {
    const seen: unknown[] = [];
    const other = createServer((request, response) => {
      seen.push(request.headers.authorization);
      response.end("{}");
    });
    other.listen(0, "127.0.0.1");
    await once(other, "listening");
    const { port } = other.address() as AddressInfo;
    const toml = `[server]\nport = ${port}\ntokens = ["token-0123456789"]\ndemo = true\n`;
    expect((await ran(["lessons"], { toml })).code).toBe(1);
    expect((await ran(["models"], { toml })).stdout).toContain("demo/clean");
    other.close();
    expect(seen.length).toBeGreaterThan(0);
    expect(new Set(seen)).toEqual(new Set([undefined]));
  });
});

describe("models", () => {
  const toml = `[models]\nfast = "up/vendor/small"\n${upstreamToml("up", "http://127.0.0.1:9/v1", { models: ["vendor/small"] })}`;

  test("are listed as a table, or as JSON for programs", async () => {
    const table = await ran(["models", "--port", "0"], { toml });
    expect(table.code).toBe(0);
    expect(table.stdout).toMatch(/^fast +\d+k$/m);
    expect(table.stdout).toMatch(/^up\/vendor\/small +or vendor\/small +\d+k$/m);
    const json = await ran(["models", "--port", "0", "--json"], { toml });
    const list = JSON.parse(json.stdout) as { data: { id: string }[] };
    expect(list.data.map(({ id }) => id)).toContain("up/vendor/small");
    expect(json.stdout.trim().split("\n")).toHaveLength(1);
  });

  test("of the gateway that runs are asked from it, with its token", async () => {
    const gateway = await aGateway(`[server]\nport = 0\ntokens = ["token-0123456789"]\n${toml}`);
    const { port } = new URL(gateway.url);
    const { code, stdout } = await ran(["models"], {
      toml: `[server]\nport = ${port}\ntokens = ["env:TOKEN"]\n`,
      env: { TOKEN: "token-0123456789" },
    });
    expect([code, stdout.includes("up/vendor/small")]).toEqual([0, true]);
  });

  test("that no upstream tells end with 1", async () => {
    const { code, stdout, stderr } = await ran(["models", "--port", "0"], {
      toml: upstreamToml("up", "http://127.0.0.1:9/v1"),
    });
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toContain("upstream/model");
  });

  test("name the cause for each upstream that did not list them", async () => {
    const replies = {
      refusing: ["application/json", '{"error": {"message": "Incorrect API key provided"}}'],
      html: ["text/html", "<!doctype html><title>Hello</title>"],
      stream: ["text/event-stream", 'data: {"id": 1}\n\n'],
      json: ["application/json", '{"hello": 1}'],
    } as const;
    const server = createServer((request, response) => {
      const kind = (request.url ?? "").split("/")[1] as keyof typeof replies;
      const [type, body] = replies[kind] ?? ["text/plain", "what?"];
      const status = kind === "refusing" ? 401 : kind in replies ? 200 : 404;
      response.writeHead(status, { "content-type": type }).end(body);
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const at = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const toml = [
      upstreamToml("listed", "http://127.0.0.1:9/v1", { models: ["m"] }),
      upstreamToml("down", "http://127.0.0.1:9/v1"),
      upstreamToml("refusing", `${at}/refusing`, { api_key: "sk-of-refusing-0123456789" }),
      upstreamToml("keyless", `${at}/refusing`),
      upstreamToml("unset", `${at}/refusing`, { api_key: "env:KEY_THAT_NOBODY_SET" }),
      upstreamToml("page", `${at}/html`),
      upstreamToml("sse", `${at}/stream`),
      upstreamToml("odd", `${at}/json`),
      upstreamToml("lost", `${at}/lost`),
    ].join("\n");
    const { code, stdout, stderr } = await ran(["models", "--port", "0"], { toml });
    const gateway = await aGateway(`[server]\nport = 0\n${toml}`);
    const running = await ran(["models", "--port", new URL(gateway.url).port]);
    server.close();
    expect([code, stdout]).toEqual([0, expect.stringContaining("listed/m")]);
    for (const told of [stderr, running.stderr]) {
      expect(told).toMatch(
        /^down: could not list models: http:\/\/127\.0\.0\.1:9\/v1\/models: .*refused/m,
      );
      expect(told).toMatch(
        /^refusing: .*\/models: refused the key with 401: Incorrect API key provided$/m,
      );
      expect(told).toMatch(
        /^keyless: .*\/models: refused the request with 401, and no key was sent: it has no api_key: Incorrect/m,
      );
      expect(told).toMatch(
        /^unset: .* 401, and no key was sent: the environment variable KEY_THAT_NOBODY_SET is not set: Inc/m,
      );
      expect(told).toMatch(/^page: .*answered HTML, not a model list; is base_url right\?$/m);
      expect(told).toMatch(
        /^sse: .*answered an event stream, not a model list; is base_url right\?$/m,
      );
      expect(told).toMatch(/^odd: .*answered JSON without a model list; is base_url right\?$/m);
      expect(told).toMatch(/^lost: .*answered 404.*is base_url right\?$/m);
      expect(told).not.toMatch(/^listed|sk-of-refusing/m);
    }
  });

  test("are preceded by a word on a key that is not set", async () => {
    const args = ["--upstream", "http://127.0.0.1:9/v1", "--api-key-env", "NOPE", "--port", "0"];
    const { stderr } = await ran(["models", ...args]);
    expect(stderr).toMatch(/^warning: .*the environment variable NOPE is not set/m);
  });

  test("of which somebody reads the first only are no failure", async () => {
    const running = deltawire(["models", "--port", "0"], { cwd: temporaryFolder() });
    running.child.stdout?.once("data", () => running.child.stdout?.destroy());
    expect([await running.ended, running.stderr()]).toEqual([0, ""]);
  });
});

describe("the command for Codex that a start prints", () => {
  test("has the flags that lead to this gateway, also with a file", async () => {
    const toml = `[server]\ndemo = true\n`;
    const running = deltawire(["--port", "0", "--host", "127.0.0.1", "--config", "my file.toml"], {
      cwd: temporaryFolder(toml, "my file.toml"),
    });
    await expect.poll(() => running.stdout(), { timeout: 20_000 }).toContain("API");
    const port = /listening on http:\/\/127\.0\.0\.1:(\d+)/.exec(running.stdout())?.[1];
    expect(running.stdout()).toContain(
      `--config 'my file.toml' --host 127.0.0.1 --port ${port} codex,`,
    );
    running.child.kill("SIGKILL");
    await running.ended;
  });
});

describe("lessons", () => {
  test("without a gateway end with 1 and say why", async () => {
    const { code, stderr } = await ran(["lessons", "--port", "9"]);
    expect(code).toBe(1);
    expect(stderr).toContain("no gateway is running");
  });

  test("of the gateway that runs are shown, and forgotten with --reset", async () => {
    const upstream = await anUpstream(({ body }, response) => {
      if (body["seed"] === undefined) says(response, "fine");
      else refuse(response, 400, { message: "Unsupported parameter: 'seed'", param: "seed" });
    });
    const gateway = await aGateway(`[server]\nport = 0\n${upstreamToml("up", upstream.url)}`);
    const { port } = new URL(gateway.url);
    const lessons = (...args: string[]) => ran(["lessons", "--port", port, ...args]);
    expect((await lessons()).stdout).toBe("Nothing learned so far.\n");
    await gateway.post("/chat/completions", { ...helloChat, seed: 1 });
    expect((await lessons()).stdout).toMatch(/^up\/m +.*seed/);
    expect(JSON.parse((await lessons("--json")).stdout)).toMatchObject({
      lessons: [{ upstream: "up", model: "m" }],
    });
    expect(await lessons("--reset")).toMatchObject({ code: 0, stdout: "Forgotten.\n" });
    expect((await lessons()).stdout).toBe("Nothing learned so far.\n");
  });
});

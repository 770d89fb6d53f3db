import { createServer } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { describe, expect, test, vi } from "vitest";
import { parseCommandLine } from "../src/cli/parse-arguments.ts";
import { commandNames } from "../src/cli/options.ts";
import { version } from "../src/version.ts";
import { startDeltawire, temporaryFolder } from "./deltawire-process.ts";
import { runCommand } from "./run-command.ts";
import { upstreamToml } from "./test-gateway.ts";
import { testGateway, testUpstream, helloChat } from "./gateway-fixture.ts";
import { sendError, streamText } from "./scripted-upstream.ts";

// Processes are started, which takes long on a busy machine.
vi.setConfig({ testTimeout: 90_000 });

describe("command line parsing", () => {
  const flags = { json: false };

  test("runs serve without a command", () => {
    expect(parseCommandLine([])).toEqual({ name: "serve", flags });
    expect(parseCommandLine(["serve"])).toEqual({ name: "serve", flags });
  });

  test("accepts flags before and after the command, in every usual form", () => {
    const expected = { name: "models", flags: { json: true, port: "99", host: "::1" } };
    for (const line of [
      "--json --port 99 --host ::1 models",
      "models -p 99 --host=::1 --json",
      "--port=99 models --json --host ::1",
    ])
      expect(parseCommandLine(line.split(" "))).toEqual(expected);
  });

  test("does not mistake the value of a flag for the command", () => {
    expect(parseCommandLine(["--profile", "models"])).toMatchObject({
      name: "serve",
      flags: { profile: "models" },
    });
    expect(parseCommandLine(["--config", "codex", "lessons", "--reset"])).toMatchObject({
      name: "lessons",
      flags: { config: "codex" },
      reset: true,
    });
  });

  test("passes everything after codex and migrate to them", () => {
    expect(
      parseCommandLine(["--port", "99", "codex", "exec", "--json", "--help", "x y"]),
    ).toMatchObject({
      name: "codex",
      flags: { port: "99", json: false },
      args: ["exec", "--json", "--help", "x y"],
    });
    expect(parseCommandLine(["-p", "99", "claude", "-p", "hi", "--model", "x"])).toMatchObject({
      name: "claude",
      flags: { port: "99" },
      args: ["-p", "hi", "--model", "x"],
    });
    expect(parseCommandLine(["run", "-m", "x", "--", "pi", "--help"])).toMatchObject({
      name: "run",
      args: ["-m", "x", "--", "pi", "--help"],
    });
    expect(parseCommandLine(["migrate", "a.toml", "--write"])).toMatchObject({
      name: "migrate",
      args: ["a.toml", "--write"],
    });
  });
});

describe("help and version", () => {
  test.each([["--help"], ["-h"], ["help"]])(
    "%s lists the commands and flags and exits with 0",
    async (word) => {
      const { code, stdout, stderr } = await runCommand([word]);
      expect([code, stderr]).toEqual([0, ""]);
      for (const part of [...commandNames, "--upstream", "--json", "help COMMAND", "4141"])
        expect(stdout).toContain(part);
    },
  );

  test.each(commandNames)(
    "help %s shows its usage, its own flags and examples",
    async (command) => {
      const { code, stdout, stderr } = await runCommand(["help", command]);
      expect([code, stderr]).toEqual([0, ""]);
      const isPassedOn = command === "codex" || command === "claude";
      for (const args of [
        ["--help", command],
        ["-h", command],
        ...(isPassedOn
          ? []
          : [
              [command, "-h"],
              [command, "--help"],
            ]),
      ])
        expect((await runCommand(args)).stdout).toBe(stdout);
      expect(stdout).toMatch(/^Usage: deltawire .*\n/);
      expect(stdout).toContain(command);
      expect(stdout).toMatch(/\nExamples:\n {2}deltawire/);
      expect(stdout.includes("--reset")).toBe(command === "lessons");
      expect(stdout.includes("--write ")).toBe(command === "migrate" || command === "connect");
      for (const line of stdout.split("\n")) expect(line.length).toBeLessThanOrEqual(120);
    },
  );

  test("help in the repository shows commands as they are typed there", async () => {
    const { stdout } = await runCommand(["models", "--help"], {
      env: { npm_lifecycle_event: "start" },
    });
    expect(stdout).toContain("npm start -- models");
    expect(stdout).not.toContain("deltawire models");
    const serve = await runCommand(["serve", "--help"], { env: { npm_lifecycle_event: "start" } });
    expect(serve.stdout).toMatch(/^ {2}npm start$/m);
  });

  test("flags and the agent of connect may be in any order", () => {
    for (const line of ["connect claude -m x --write", "-m x --write connect claude"])
      expect(parseCommandLine(line.split(" "))).toMatchObject({
        name: "connect",
        agent: "claude",
        modelFlags: { model: "x" },
        write: true,
      });
  });

  test("flags after codex and claude belong to Codex and Claude Code", () => {
    for (const name of ["codex", "claude"])
      for (const flag of ["--help", "-h", "--version", "-v", "-V"])
        expect(parseCommandLine([name, flag])).toMatchObject({ name, args: [flag] });
    expect(parseCommandLine(["codex", "exec", "--help"])).toMatchObject({ name: "codex" });
    expect(parseCommandLine(["codex", "exec", "-v"])).toMatchObject({ name: "codex" });
  });

  test("the help fits into 120 columns", async () => {
    const { stdout } = await runCommand(["--help"]);
    for (const line of stdout.split("\n")) expect(line.length).toBeLessThanOrEqual(120);
  });

  test("the help names all APIs, and the commands of flags that few commands have", async () => {
    const { stdout } = await runCommand(["--help"]);
    expect(stdout.split("\n")[0]).toMatch(/Responses, Chat Completions or Messages/);
    expect(stdout).toMatch(/-m, --model NAME +claude, run, connect: model/);
    expect(stdout).toMatch(/--small-model NAME +claude, run, connect: for/);
    expect(stdout).toMatch(/--write +connect, migrate: apply/);
    expect(stdout).toMatch(/--reset +lessons: delete/);
  });

  test("--version prints only the version", async () => {
    expect(await runCommand(["--version"])).toEqual({
      code: 0,
      stdout: `${version}\n`,
      stderr: "",
    });
    for (const word of ["-V", "-v"]) expect((await runCommand([word])).stdout).toBe(`${version}\n`);
    for (const command of commandNames.filter((name) => name !== "codex" && name !== "claude"))
      for (const word of ["--version", "-V", "-v"])
        expect((await runCommand([command, word])).stdout).toBe(`${version}\n`);
  });
});

describe("invalid input exits with 2 and one line that helps:", () => {
  test.each([
    [["serv"], /unknown command "serv" \(did you mean serve\?\)/],
    [["model"], /models/],
    // Of a flag before "--", npm passes on only the value.
    [["4302"], /write --port 4302, or with npm: npm start -- --port 4302$/m],
    [["http://127.0.0.1:1/v1"], /npm start -- --upstream http:\/\/127\.0\.0\.1:1\/v1$/m],
    [["xyzzy"], /unknown command "xyzzy".*--help/],
    [["--prot", "99"], /--prot.*--port/],
    [["--jsn"], /--json/],
    [["--port"], /--port/],
    [["migrate", "--wriet"], /^unknown flag --wriet \(did you mean --write\?\); migrate --help/],
    [["migrate", "--port", "0"], /^--port: must be a port number from 1 to 65535, got "0"$/m],
    [["migrate", "a.toml", "b.toml"], /only one file, got a\.toml and b\.toml/],
    [["serve", "now"], /now/],
    [["-m", "x", "codex"], /^write -m after codex: codex -m NAME$/m],
    [["--reset", "claude"], /--reset only works with lessons; help claude lists the flags/],
    [["models", "--reset"], /--reset only works with lessons; models --help/],
    [["help", "modls"], /unknown command "modls".*models/],
    [["--port", "99999"], /--port.*65535/],
    [["--port", "x"], /--port/],
    [["--upstream", "nonsense"], /--upstream.*https:\/\//],
    [["--upstream", "https://a.example/v1", "--speaks", "chatt"], /--speaks.*chat/],
    [["--upstream", "https://a.example/v1", "--profile", "deepsek"], /--profile.*deepseek/],
    [["--config", "missing.toml"], /missing\.toml does not exist/],
    [["--host", "0.0.0.0"], /tokens/],
  ])("%j", async (args, message) => {
    const { code, stdout, stderr } = await runCommand(args);
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toMatch(message);
    expect(stderr).not.toMatch(/\n\s+at /);
    expect(stderr.trim().split("\n")).toHaveLength(1);
  });

  test("a configuration, with its file and line", async () => {
    const { code, stderr } = await runCommand(["models"], {
      toml: '[server]\nprot = 1\n[upstreams.a]\nbase_url = "https://a.example"\nspeaks = "chatt"\n',
    });
    expect(code).toBe(2);
    expect(stderr).toMatch(/deltawire\.toml:2: .*port/);
    expect(stderr).toMatch(/deltawire\.toml:5: .*chat/);
  });
});

describe("a port that is in use", () => {
  test("exits with 1 and says how to choose another port", async () => {
    const otherServer = createServer();
    otherServer.listen(0, "127.0.0.1");
    await once(otherServer, "listening");
    const { port } = otherServer.address() as AddressInfo;
    const { code, stderr } = await runCommand(["--port", String(port)]);
    otherServer.close();
    expect(code).toBe(1);
    expect(stderr).toContain(`port ${port} is in use`);
    expect(stderr).toContain("--port");
    expect(stderr).not.toMatch(/\n\s+at /);
  });

  test("ends the process, including the demo", async () => {
    const gateway = await testGateway("[server]\nport = 0\ndemo = true\n");
    const second = startDeltawire(["--port", new URL(gateway.url).port], {
      cwd: temporaryFolder(),
    });
    expect(await second.ended).toBe(1);
  });

  test("by another program is not mistaken for a gateway and gets no token", async () => {
    const receivedTokens: unknown[] = [];
    const other = createServer((request, response) => {
      receivedTokens.push(request.headers.authorization);
      response.end("{}");
    });
    other.listen(0, "127.0.0.1");
    await once(other, "listening");
    const { port } = other.address() as AddressInfo;
    const toml = `[server]\nport = ${port}\ntokens = ["token-0123456789"]\ndemo = true\n`;
    expect((await runCommand(["lessons"], { toml })).code).toBe(1);
    expect((await runCommand(["models"], { toml })).stdout).toContain("demo/clean");
    other.close();
    expect(receivedTokens.length).toBeGreaterThan(0);
    expect(new Set(receivedTokens)).toEqual(new Set([undefined]));
  });
});

describe("models", () => {
  const toml = `[models]\nfast = "up/vendor/small"\n${upstreamToml("up", "http://127.0.0.1:9/v1", { models: ["vendor/small"] })}`;

  test("are listed as a table, or as JSON for programs", async () => {
    const table = await runCommand(["models", "--port", "0"], { toml });
    expect(table.code).toBe(0);
    expect(table.stdout).toMatch(/^fast +\d+k$/m);
    expect(table.stdout).toMatch(/^up\/vendor\/small +vendor\/small +\d+k$/m);
    const json = await runCommand(["models", "--port", "0", "--json"], { toml });
    const list = JSON.parse(json.stdout) as { data: { id: string }[] };
    expect(list.data.map(({ id }) => id)).toContain("up/vendor/small");
    expect(json.stdout.trim().split("\n")).toHaveLength(1);
  });

  test("are requested from the running gateway, with its token", async () => {
    const gateway = await testGateway(`[server]\nport = 0\ntokens = ["token-0123456789"]\n${toml}`);
    const { port } = new URL(gateway.url);
    const { code, stdout } = await runCommand(["models"], {
      toml: `[server]\nport = ${port}\ntokens = ["env:TOKEN"]\n`,
      env: { TOKEN: "token-0123456789" },
    });
    expect([code, stdout.includes("up/vendor/small")]).toEqual([0, true]);
  });

  test("are an error with exit code 1 if no upstream lists any", async () => {
    const { code, stdout, stderr } = await runCommand(["models", "--port", "0"], {
      toml: upstreamToml("up", "http://127.0.0.1:9/v1"),
    });
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toContain("upstream/model");
  });

  test("are listed with the reason for each upstream that failed", async () => {
    const replies = {
      rejecting: ["application/json", '{"error": {"message": "Incorrect API key provided"}}'],
      html: ["text/html", "<!doctype html><title>Hello</title>"],
      stream: ["text/event-stream", 'data: {"id": 1}\n\n'],
      json: ["application/json", '{"hello": 1}'],
    } as const;
    const server = createServer((request, response) => {
      const kind = (request.url ?? "").split("/")[1] as keyof typeof replies;
      const [type, body] = replies[kind] ?? ["text/plain", "what?"];
      const status = kind === "rejecting" ? 401 : kind in replies ? 200 : 404;
      response.writeHead(status, { "content-type": type }).end(body);
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const at = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const toml = [
      upstreamToml("listed", "http://127.0.0.1:9/v1", { models: ["m"] }),
      upstreamToml("down", "http://127.0.0.1:9/v1"),
      upstreamToml("rejecting", `${at}/rejecting`, { api_key: "sk-of-rejecting-0123456789" }),
      upstreamToml("keyless", `${at}/rejecting`),
      upstreamToml("unset", `${at}/rejecting`, { api_key: "env:KEY_THAT_NOBODY_SET" }),
      upstreamToml("page", `${at}/html`),
      upstreamToml("sse", `${at}/stream`),
      upstreamToml("odd", `${at}/json`),
      upstreamToml("lost", `${at}/lost`),
    ].join("\n");
    const { code, stdout, stderr } = await runCommand(["models", "--port", "0"], { toml });
    const gateway = await testGateway(`[server]\nport = 0\n${toml}`);
    const running = await runCommand(["models", "--port", new URL(gateway.url).port]);
    server.close();
    expect([code, stdout]).toEqual([0, expect.stringContaining("listed/m")]);
    for (const output of [stderr, running.stderr]) {
      expect(output).toMatch(
        /^down: could not list models: http:\/\/127\.0\.0\.1:9\/v1\/models: .*refused/m,
      );
      expect(output).toMatch(
        /^rejecting: .*\/models: rejected the key \(401\): Incorrect API key provided$/m,
      );
      expect(output).toMatch(
        /^keyless: .*\/models: requires a key \(401\): api_key is not set: Incorrect/m,
      );
      expect(output).toMatch(
        /^unset: .*\/models: requires a key \(401\): the environment variable KEY_THAT_NOBODY_SET is not set: Inc/m,
      );
      expect(output).toMatch(/^page: .*expected a model list, got HTML; is base_url right\?$/m);
      expect(output).toMatch(
        /^sse: .*expected a model list, got an event stream; is base_url right\?$/m,
      );
      expect(output).toMatch(
        /^odd: .*expected a model list, got other JSON; is base_url right\?$/m,
      );
      expect(output).toMatch(/^lost: .*answered 404.*is base_url right\?$/m);
      expect(output).not.toMatch(/^listed|sk-of-rejecting/m);
    }
  });

  test("are preceded by a warning about an unset key", async () => {
    const args = ["--upstream", "http://127.0.0.1:9/v1", "--api-key-env", "NOPE", "--port", "0"];
    const { stderr } = await runCommand(["models", ...args]);
    expect(stderr).toMatch(/^warning: .*the environment variable NOPE is not set/m);
  });

  test("do not fail if the reader closes the pipe early", async () => {
    const running = startDeltawire(["models", "--port", "0"], { cwd: temporaryFolder() });
    running.child.stdout?.once("data", () => running.child.stdout?.destroy());
    expect([await running.ended, running.stderr()]).toEqual([0, ""]);
  });
});

describe("the commands for Codex and Claude Code that serve prints", () => {
  test("have the flags for this gateway, even with a configuration file", async () => {
    const toml = `[server]\ndemo = true\n`;
    const running = startDeltawire(
      ["--port", "0", "--host", "127.0.0.1", "--config", "my file.toml"],
      {
        cwd: temporaryFolder(toml, "my file.toml"),
      },
    );
    await expect.poll(() => running.stdout(), { timeout: 20_000 }).toContain("API");
    const port = /listening on http:\/\/127\.0\.0\.1:(\d+)/.exec(running.stdout())?.[1];
    expect(running.stdout()).toContain(
      `--config 'my file.toml' --host 127.0.0.1 --port ${port} codex,`,
    );
    expect(running.stdout()).toContain(
      `Claude     deltawire --config 'my file.toml' --host 127.0.0.1 --port ${port} claude\n`,
    );
    running.child.kill("SIGKILL");
    await running.ended;
  });
});

describe("lessons", () => {
  test("exits with 1 and a reason if no gateway is running", async () => {
    const { code, stderr } = await runCommand(["lessons", "--port", "9"]);
    expect(code).toBe(1);
    expect(stderr).toContain("no gateway is running");
  });

  test("shows the lessons of the running gateway, and deletes them with --reset", async () => {
    const upstream = await testUpstream(({ body }, response) => {
      if (body["seed"] === undefined) streamText(response, "fine");
      else sendError(response, 400, { message: "Unsupported parameter: 'seed'", param: "seed" });
    });
    const gateway = await testGateway(`[server]\nport = 0\n${upstreamToml("up", upstream.url)}`);
    const { port } = new URL(gateway.url);
    const lessons = (...args: string[]) => runCommand(["lessons", "--port", port, ...args]);
    expect((await lessons()).stdout).toBe("No lessons so far.\n");
    await gateway.post("/chat/completions", { ...helloChat, seed: 1 });
    expect((await lessons()).stdout).toMatch(/^up\/m +.*seed/);
    expect(JSON.parse((await lessons("--json")).stdout)).toMatchObject({
      lessons: [{ upstream: "up", model: "m" }],
    });
    expect(await lessons("--reset")).toMatchObject({ code: 0, stdout: "Lessons deleted.\n" });
    expect((await lessons()).stdout).toBe("No lessons so far.\n");
  });
});

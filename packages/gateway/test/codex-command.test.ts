import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { parse } from "smol-toml";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { chatProvidersIn, codexArguments } from "../src/codex/arguments.ts";
import { codexCommand } from "../src/codex/command.ts";
import { findCodex } from "../src/codex/find-codex.ts";
import { withoutProxyForLoopback } from "../src/config/loopback-proxy.ts";

describe("the arguments of Codex", () => {
  const baseUrl = "http://127.0.0.1:4141/v1";

  test("name the gateway, in front of what the user typed", () => {
    const args = ["exec", "-m", "other", "--", "-c say hi"];
    expect(codexArguments({ baseUrl, model: "zai/glm-4.6", chatProviders: [], args })).toEqual([
      "-c",
      'model="zai/glm-4.6"',
      "-c",
      'model_provider="deltawire"',
      "-c",
      'model_providers.deltawire={ name = "Deltawire", base_url = "http://127.0.0.1:4141/v1", wire_api = "responses", env_key = "DELTAWIRE_TOKEN", model_catalog_url = "http://127.0.0.1:4141/v1/models?model=other" }',
      ...args,
    ]);
  });

  test("name no model where there is none, and tell the user's chat providers otherwise", () => {
    const made = codexArguments({ baseUrl, model: undefined, chatProviders: ["a b"], args: [] });
    expect(made.filter((_, index) => index % 2 === 1)).toEqual([
      'model_provider="deltawire"',
      expect.stringMatching(/^model_providers\.deltawire=/),
      'model_providers.a b.wire_api="responses"',
    ]);
  });

  test("name the model that will be used in the catalogue's address, however the user names it", () => {
    const asked = (...args: string[]) =>
      /models\?model=([^"]*)"/.exec(
        codexArguments({ baseUrl, model: "a/b", chatProviders: [], args }).join(" "),
      )?.[1];
    expect(asked()).toBe("a%2Fb");
    for (const args of [["-m", "x"], ["--model", "x"], ["--model=x"], ["-mx"], ["exec", "-m", "x"]])
      expect(asked(...args)).toBe("x");
    expect(asked("exec", "--", "-m", "x")).toBe("a%2Fb");
  });

  test("have every value as TOML, whatever the model is called", () => {
    fc.assert(
      fc.property(fc.string(), (model) => {
        const [, setting = ""] = codexArguments({ baseUrl, model, chatProviders: [], args: [] });
        expect(parse(setting)).toEqual({ model });
      }),
    );
  });

  test("know of chat providers that can be named there, and of none in what is no TOML", () => {
    const config = `[model_providers.zai]\nwire_api = "chat"
[model_providers."x.y"]\nwire_api = "chat"
[model_providers.b]\nwire_api = "responses"\n`;
    expect(chatProvidersIn(config)).toEqual(["zai"]);
    expect(chatProvidersIn("[")).toEqual([]);
    expect(chatProvidersIn("model_providers = 1")).toEqual([]);
  });
});

describe("a proxy in the environment", () => {
  test("is not asked for the gateway, in both spellings", () => {
    const hosts = "example.org,127.0.0.1,localhost";
    const env = { http_proxy: "http://p", no_proxy: "example.org", HOME: "h" };
    expect(withoutProxyForLoopback(env)).toEqual({ ...env, NO_PROXY: hosts, no_proxy: hosts });
  });

  test("that is not there, or would not be asked, changes nothing", () => {
    for (const env of [{}, { HTTPS_PROXY: "p" }, { ALL_PROXY: "p", NO_PROXY: "127.0.0.1" }])
      expect(withoutProxyForLoopback(env)).toBe(env);
  });
});

describe("the installed Codex", () => {
  const found = (env: Record<string, string>, platform: NodeJS.Platform, ...there: string[]) =>
    findCodex(env, platform, (file) => there.includes(file));

  test("is the first on the PATH; empty parts of that are no folder", () => {
    const env = { PATH: ":/a:/b:/c" };
    expect(found(env, "linux", "codex", "/b/codex", "/c/codex")).toEqual({
      file: "/b/codex",
      args: [],
    });
  });

  test("is what DELTAWIRE_CODEX says, as a path or as a name", () => {
    const env = { PATH: "/a", DELTAWIRE_CODEX: "/opt/codex" };
    expect(found(env, "linux", "/a/codex", "/opt/codex")).toMatchObject({ file: "/opt/codex" });
    const named = { PATH: "/a", DELTAWIRE_CODEX: "codex-old" };
    expect(found(named, "linux", "/a/codex", "/a/codex-old")).toMatchObject({
      file: "/a/codex-old",
    });
  });

  test("is started by Node where it is a script, as npm's file on Windows is", () => {
    const script = { DELTAWIRE_CODEX: "/opt/codex.js" };
    expect(found(script, "linux", "/opt/codex.js")).toEqual({
      file: process.execPath,
      args: ["/opt/codex.js"],
    });
    const env = { Path: "C:\\Windows;C:\\npm" };
    expect(found(env, "win32", "C:\\npm\\codex", "C:\\npm\\codex.cmd")).toEqual({
      file: process.execPath,
      args: ["C:\\npm\\node_modules\\@openai\\codex\\bin\\codex.js"],
    });
    expect(found(env, "win32", "C:\\npm\\codex.exe")).toEqual({
      file: "C:\\npm\\codex.exe",
      args: [],
    });
  });

  test("that is not there is told of, with the way to get it", () => {
    expect(found({ PATH: "/a" }, "linux")).toEqual({
      problem: expect.stringContaining("npm install -g @openai/codex"),
    });
    expect(found({}, "linux")).toHaveProperty("problem");
    const wrong = { PATH: "/a", DELTAWIRE_CODEX: "/nowhere" };
    expect(found(wrong, "linux", "/a/codex")).toEqual({
      problem: expect.stringMatching(/^DELTAWIRE_CODEX: .*\/nowhere$/),
    });
  });

  test("is a file that may be run, and no folder of that name", () => {
    const here = join(import.meta.dirname, "..");
    expect(findCodex({ PATH: here, DELTAWIRE_CODEX: "test" }, "linux")).toHaveProperty("problem");
    expect(findCodex({ DELTAWIRE_CODEX: process.execPath }, process.platform)).toEqual({
      file: process.execPath,
      args: [],
    });
  });
});

describe("Codex", () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "deltawire-codex-"));
    mkdirSync(join(folder, ".codex"));
  });
  afterEach(() => {
    rmSync(folder, { recursive: true });
  });

  /** A program in Codex's place: it writes down how it was started, then does as the test says. */
  function standIn(then: string): string {
    const file = join(folder, "codex.mjs");
    const told = JSON.stringify(join(folder, "told.json"));
    writeFileSync(
      file,
      `import { renameSync, writeFileSync } from "node:fs";
const { DELTAWIRE_TOKEN, NO_PROXY, KEPT } = process.env;
const told = { args: process.argv.slice(2), env: { DELTAWIRE_TOKEN, NO_PROXY, KEPT }, cwd: process.cwd() };
process.on("SIGTERM", () => process.exit(7));
writeFileSync(${told} + ".new", JSON.stringify(told));
renameSync(${told} + ".new", ${told});
${then}
`,
    );
    return file;
  }

  function told(): unknown {
    return JSON.parse(readFileSync(join(folder, "told.json"), "utf8"));
  }

  async function run(then: string, more: { token?: string; env?: object; args?: string[] } = {}) {
    let err = "";
    const code = await codexCommand({
      args: more.args ?? [],
      gateway: { url: "http://127.0.0.1:4141", token: more.token, model: "zai/glm-4.6" },
      terminal: {
        cwd: folder,
        env: {
          PATH: process.env["PATH"],
          DELTAWIRE_CODEX: standIn(then),
          KEPT: "yes",
          ...more.env,
        },
        home: folder,
        platform: process.platform,
        stderr: { write: (text) => void (err += text) },
      },
    });
    return { code, err };
  }

  test("gets the gateway, its token in the environment, and the user's words; its exit code is ours", async () => {
    const args = ["exec", "two words", ""];
    expect(await run("process.exit(3);", { args, token: "secret" })).toEqual({ code: 3, err: "" });
    expect(told()).toEqual({
      args: [
        "-c",
        'model="zai/glm-4.6"',
        "-c",
        'model_provider="deltawire"',
        "-c",
        expect.stringContaining('base_url = "http://127.0.0.1:4141/v1"'),
        ...args,
      ],
      env: { DELTAWIRE_TOKEN: "secret", KEPT: "yes" },
      cwd: folder,
    });
  });

  test("gets a token that says nothing from a gateway that asks for none, and no proxy for it", async () => {
    await run("", { env: { HTTP_PROXY: "http://proxy.example", DELTAWIRE_TOKEN: "stale" } });
    expect(told()).toMatchObject({
      env: { DELTAWIRE_TOKEN: "local", NO_PROXY: "127.0.0.1,localhost" },
    });
  });

  test("starts on a configuration that it refuses, which stays as it is", async () => {
    const config = join(folder, ".codex", "config.toml");
    const text = '[model_providers.zai]\nname = "Z"\nwire_api = "chat"\n';
    writeFileSync(config, text);
    const { err } = await run("");
    expect(err).toMatch(/wire_api = "chat" \(zai\).*migrate/);
    expect(told()).toMatchObject({
      args: expect.arrayContaining(['model_providers.zai.wire_api="responses"']),
    });
    expect(readFileSync(config, "utf8")).toBe(text);
  });

  test("that dies of a signal gives the exit code that shells give", async () => {
    expect(await run('process.kill(process.pid, "SIGKILL");')).toEqual({ code: 137, err: "" });
  });

  test("that is not installed is 127 and a message", async () => {
    const { code, err } = await run("", { env: { DELTAWIRE_CODEX: "", PATH: folder } });
    expect(code).toBe(127);
    expect(err).toContain("npm install -g @openai/codex");
  });

  test("gets the signals that we get, and we wait for it", async () => {
    const command = join(import.meta.dirname, "..", "src", "codex", "command.ts");
    const codex = standIn("setInterval(() => {}, 1000);");
    const parent = spawn(
      process.execPath,
      [
        "--conditions=@deltawire/source",
        "--input-type=module",
        "--eval",
        `const { codexCommand } = await import(${JSON.stringify(command)});
const { env, platform, stderr } = process;
const terminal = { cwd: process.cwd(), env, home: ${JSON.stringify(folder)}, platform, stderr };
process.exitCode = await codexCommand({ args: [], gateway: { url: "http://127.0.0.1:1" }, terminal });`,
      ],
      { stdio: "ignore", env: { ...process.env, DELTAWIRE_CODEX: codex } },
    );
    try {
      while (!existsSync(join(folder, "told.json")) && parent.exitCode === null)
        await new Promise((resolve) => setTimeout(resolve, 20));
      parent.kill("SIGTERM");
      expect(await once(parent, "exit")).toEqual([7, null]);
    } finally {
      parent.kill("SIGKILL");
    }
  });
});

import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { parse } from "smol-toml";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { listChatProviders, buildCodexArguments } from "../src/codex/build-arguments.ts";
import { runCodex } from "../src/codex/run-codex.ts";
import { findCodex } from "../src/codex/find-codex.ts";
import { withoutProxyForLoopback } from "../src/config/loopback-proxy.ts";

describe("the arguments for Codex", () => {
  const baseUrl = "http://127.0.0.1:4141/v1";

  test("configure the gateway, before the arguments of the user", () => {
    const userArguments = ["exec", "-m", "other", "--", "-c say hi"];
    expect(
      buildCodexArguments({ baseUrl, model: "zai/glm-4.6", chatProviders: [], userArguments }),
    ).toEqual([
      "-c",
      'model="zai/glm-4.6"',
      "-c",
      'model_provider="deltawire"',
      "-c",
      'model_providers.deltawire={ name = "Deltawire", base_url = "http://127.0.0.1:4141/v1", wire_api = "responses", env_key = "DELTAWIRE_TOKEN", model_catalog_url = "http://127.0.0.1:4141/v1/models?model=other" }',
      ...userArguments,
    ]);
  });

  test("set no model if there is none, and override the user's chat providers", () => {
    const codexArguments = buildCodexArguments({
      baseUrl,
      model: undefined,
      chatProviders: ["a b"],
      userArguments: [],
    });
    expect(codexArguments.filter((_, index) => index % 2 === 1)).toEqual([
      'model_provider="deltawire"',
      expect.stringMatching(/^model_providers\.deltawire=/),
      'model_providers.a b.wire_api="responses"',
    ]);
  });

  test("name the model in the catalog URL, in every form in which the user can name it", () => {
    const getModel = (...userArguments: string[]) =>
      /models\?model=([^"]*)"/.exec(
        buildCodexArguments({ baseUrl, model: "a/b", chatProviders: [], userArguments }).join(" "),
      )?.[1];
    expect(getModel()).toBe("a%2Fb");
    for (const args of [["-m", "x"], ["--model", "x"], ["--model=x"], ["-mx"], ["exec", "-m", "x"]])
      expect(getModel(...args)).toBe("x");
    expect(getModel("exec", "--", "-m", "x")).toBe("a%2Fb");
  });

  test("contain every value as valid TOML, for any model name", () => {
    fc.assert(
      fc.property(fc.string(), (model) => {
        const [, setting = ""] = buildCodexArguments({
          baseUrl,
          model,
          chatProviders: [],
          userArguments: [],
        });
        expect(parse(setting)).toEqual({ model });
      }),
    );
  });

  test("override only chat providers that -c can address, and none if the file is not TOML", () => {
    const config = `[model_providers.zai]\nwire_api = "chat"
[model_providers."x.y"]\nwire_api = "chat"
[model_providers.b]\nwire_api = "responses"\n`;
    expect(listChatProviders(config)).toEqual(["zai"]);
    expect(listChatProviders("[")).toEqual([]);
    expect(listChatProviders("model_providers = 1")).toEqual([]);
  });
});

describe("a proxy in the environment", () => {
  test("is bypassed for the gateway, in both spellings of the variable", () => {
    const hosts = "example.org,127.0.0.1,localhost";
    const env = { http_proxy: "http://p", no_proxy: "example.org", HOME: "h" };
    expect(withoutProxyForLoopback(env)).toEqual({ ...env, NO_PROXY: hosts, no_proxy: hosts });
  });

  test("that is missing or would not be used changes nothing", () => {
    for (const env of [{}, { HTTPS_PROXY: "p" }, { ALL_PROXY: "p", NO_PROXY: "127.0.0.1" }])
      expect(withoutProxyForLoopback(env)).toBe(env);
  });
});

describe("the installed Codex", () => {
  const find = (env: Record<string, string>, platform: NodeJS.Platform, ...there: string[]) =>
    findCodex(env, platform, (file) => there.includes(file));

  test("is the first one on the PATH; empty entries are ignored", () => {
    const env = { PATH: ":/a:/b:/c" };
    expect(find(env, "linux", "codex", "/b/codex", "/c/codex")).toEqual({
      file: "/b/codex",
      args: [],
    });
  });

  test("is what DELTAWIRE_CODEX names, as a path or a name", () => {
    const env = { PATH: "/a", DELTAWIRE_CODEX: "/opt/codex" };
    expect(find(env, "linux", "/a/codex", "/opt/codex")).toMatchObject({ file: "/opt/codex" });
    const named = { PATH: "/a", DELTAWIRE_CODEX: "codex-old" };
    expect(find(named, "linux", "/a/codex", "/a/codex-old")).toMatchObject({
      file: "/a/codex-old",
    });
  });

  test("is run by Node if it is a script, such as the one that npm installs on Windows", () => {
    const script = { DELTAWIRE_CODEX: "/opt/codex.js" };
    expect(find(script, "linux", "/opt/codex.js")).toEqual({
      file: process.execPath,
      args: ["/opt/codex.js"],
    });
    const env = { Path: "C:\\Windows;C:\\npm" };
    expect(find(env, "win32", "C:\\npm\\codex", "C:\\npm\\codex.cmd")).toEqual({
      file: process.execPath,
      args: ["C:\\npm\\node_modules\\@openai\\codex\\bin\\codex.js"],
    });
    expect(find(env, "win32", "C:\\npm\\codex.exe")).toEqual({
      file: "C:\\npm\\codex.exe",
      args: [],
    });
  });

  test("that is missing is reported with how to install it", () => {
    expect(find({ PATH: "/a" }, "linux")).toEqual({
      problem: expect.stringContaining("npm install -g @openai/codex"),
    });
    expect(find({}, "linux")).toHaveProperty("problem");
    const wrong = { PATH: "/a", DELTAWIRE_CODEX: "/nowhere" };
    expect(find(wrong, "linux", "/a/codex")).toEqual({
      problem: expect.stringMatching(/^DELTAWIRE_CODEX: .*\/nowhere$/),
    });
  });

  test("must be an executable file, not a folder of that name", () => {
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

  /** Creates a program that replaces Codex. It records how it was started, and then runs `then`. */
  function createStandIn(then: string): string {
    const file = join(folder, "codex.mjs");
    const reportPath = JSON.stringify(join(folder, "report.json"));
    writeFileSync(
      file,
      `import { renameSync, writeFileSync } from "node:fs";
const { DELTAWIRE_TOKEN, NO_PROXY, OTHER } = process.env;
const report = { args: process.argv.slice(2), env: { DELTAWIRE_TOKEN, NO_PROXY, OTHER }, cwd: process.cwd() };
process.on("SIGTERM", () => process.exit(7));
writeFileSync(${reportPath} + ".new", JSON.stringify(report));
renameSync(${reportPath} + ".new", ${reportPath});
${then}
`,
    );
    return file;
  }

  function reportPath(): unknown {
    return JSON.parse(readFileSync(join(folder, "report.json"), "utf8"));
  }

  async function run(
    then: string,
    overrides: { token?: string; env?: object; args?: string[] } = {},
  ) {
    let err = "";
    const code = await runCodex({
      args: overrides.args ?? [],
      gateway: { url: "http://127.0.0.1:4141", token: overrides.token, model: "zai/glm-4.6" },
      terminal: {
        cwd: folder,
        env: {
          PATH: process.env["PATH"],
          DELTAWIRE_CODEX: createStandIn(then),
          OTHER: "yes",
          ...overrides.env,
        },
        home: folder,
        platform: process.platform,
        stderr: { write: (text) => void (err += text) },
      },
    });
    return { code, err };
  }

  test("gets the gateway, its token in the environment and the user's arguments; its exit code is returned", async () => {
    const args = ["exec", "two words", ""];
    expect(await run("process.exit(3);", { args, token: "secret" })).toEqual({ code: 3, err: "" });
    expect(reportPath()).toEqual({
      args: [
        "-c",
        'model="zai/glm-4.6"',
        "-c",
        'model_provider="deltawire"',
        "-c",
        expect.stringContaining('base_url = "http://127.0.0.1:4141/v1"'),
        ...args,
      ],
      env: { DELTAWIRE_TOKEN: "secret", OTHER: "yes" },
      cwd: folder,
    });
  });

  test("gets a placeholder token from a gateway without tokens, and no proxy for it", async () => {
    await run("", { env: { HTTP_PROXY: "http://proxy.example", DELTAWIRE_TOKEN: "stale" } });
    expect(reportPath()).toMatchObject({
      env: { DELTAWIRE_TOKEN: "local", NO_PROXY: "127.0.0.1,localhost" },
    });
  });

  test("starts on a configuration that it does not support, and leaves the file unchanged", async () => {
    const config = join(folder, ".codex", "config.toml");
    const text = '[model_providers.zai]\nname = "Z"\nwire_api = "chat"\n';
    writeFileSync(config, text);
    const { err } = await run("");
    expect(err).toMatch(/wire_api = "chat".* in zai\..*migrate/);
    expect(reportPath()).toMatchObject({
      args: expect.arrayContaining(['model_providers.zai.wire_api="responses"']),
    });
    expect(readFileSync(config, "utf8")).toBe(text);
  });

  test("returns the exit code of shells if it was killed by a signal", async () => {
    expect(await run('process.kill(process.pid, "SIGKILL");')).toEqual({ code: 137, err: "" });
  });

  test("returns 127 and a message if it is not installed", async () => {
    const { code, err } = await run("", { env: { DELTAWIRE_CODEX: "", PATH: folder } });
    expect(code).toBe(127);
    expect(err).toContain("npm install -g @openai/codex");
  });

  test("receives the signals that deltawire receives, which waits until Codex ends", async () => {
    const command = join(import.meta.dirname, "..", "src", "codex", "run-codex.ts");
    const codex = createStandIn("setInterval(() => {}, 1000);");
    const parent = spawn(
      process.execPath,
      [
        "--conditions=@deltawire/source",
        "--input-type=module",
        "--eval",
        `const { runCodex } = await import(${JSON.stringify(command)});
const { env, platform, stderr } = process;
const terminal = { cwd: process.cwd(), env, home: ${JSON.stringify(folder)}, platform, stderr };
process.exitCode = await runCodex({ args: [], gateway: { url: "http://127.0.0.1:1" }, terminal });`,
      ],
      { stdio: "ignore", env: { ...process.env, DELTAWIRE_CODEX: codex } },
    );
    try {
      while (!existsSync(join(folder, "report.json")) && parent.exitCode === null)
        await new Promise((resolve) => setTimeout(resolve, 20));
      parent.kill("SIGTERM");
      expect(await once(parent, "exit")).toEqual([7, null]);
    } finally {
      parent.kill("SIGKILL");
    }
  });
});

import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { UsageError } from "../src/cli/parse-arguments.ts";
import { runMigrateCommand } from "../src/cli/migrate-command.ts";

const codexText = `# mine
model = "glm-4.6"
model_provider = "zai"

[model_providers.zai]
name = "Z"
base_url = "https://api.z.ai/v4"
experimental_bearer_token = "verysecret"
wire_api = "chat"
`;

let home: string;
let config: string;
let gatewayConfig: string;

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "deltawire-migrate-"));
  config = join(home, ".codex", "config.toml");
  gatewayConfig = join(home, ".config", "deltawire", "deltawire.toml");
  put(config, codexText);
});

afterEach(() => {
  rmSync(home, { recursive: true });
});

function put(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

function read(file: string): string {
  return readFileSync(file, "utf8");
}

interface CommandOutput {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

async function migrate(
  args: string[],
  { env = {}, isTTY = false, cwd = "work" }: { env?: object; isTTY?: boolean; cwd?: string } = {},
): Promise<CommandOutput> {
  const output = { out: "", err: "" };
  const code = await runMigrateCommand(args, {
    cwd: join(home, cwd),
    home,
    env: { ...env },
    platform: "linux",
    stdout: { write: (text) => void (output.out += text), isTTY },
    stderr: { write: (text) => void (output.err += text) },
  });
  return { code, ...output };
}

describe("without --write", () => {
  test("both changes and the next steps are shown, and nothing is written", async () => {
    const { code, out, err } = await migrate([]);
    expect([code, err]).toEqual([0, ""]);
    expect(out).toContain("--- ~/.codex/config.toml\n+++ ~/.codex/config.toml\n@@ ");
    expect(out).toContain('-experimental_bearer_token = "…"\n');
    expect(out).toContain('+experimental_bearer_token = "local"\n');
    expect(out).toContain("--- /dev/null\n+++ ~/.config/deltawire/deltawire.toml\n");
    expect(out).toMatch(
      /Nothing has been written\. Next:\n {2}1\. deltawire migrate --write\n {2}2\. set ZAI_API_KEY .*\n {2}3\. deltawire\n/,
    );
    expect(out).not.toContain("verysecret");
    expect(read(config)).toBe(codexText);
    expect(readdirSync(home)).toEqual([".codex"]);
  });

  test("colors are used only in a terminal, and can be disabled", async () => {
    const color = "\u001B[";
    expect((await migrate([])).out).not.toContain(color);
    expect((await migrate([], { isTTY: true })).out).toContain(
      `${color}32m+wire_api = "responses"`,
    );
    expect((await migrate([], { isTTY: true, env: { NO_COLOR: "1" } })).out).not.toContain(color);
    expect((await migrate([], { isTTY: true, env: { TERM: "dumb" } })).out).not.toContain(color);
  });

  test("--json prints the same as JSON", async () => {
    const { code, out } = await migrate(["--json"]);
    expect(code).toBe(0);
    expect(JSON.parse(out)).toEqual({
      changes: [
        { file: config, diff: expect.stringContaining('+wire_api = "responses"\n') },
        { file: gatewayConfig, diff: expect.stringContaining("+[upstreams.zai]\n") },
      ],
      notes: [expect.stringContaining("ZAI_API_KEY")],
      written: false,
    });
    expect(out).not.toContain("verysecret");
  });
});

describe("with --write", () => {
  test("both files are changed, the old one is backed up, and a second run has nothing to do", async () => {
    const { code, out } = await migrate(["--write"]);
    expect(code).toBe(0);
    expect(out).toContain("Backup: ~/.codex/config.toml.before-deltawire\n");
    expect(read(config)).toContain('wire_api = "responses"');
    expect(read(`${config}.before-deltawire`)).toBe(codexText);
    expect(read(gatewayConfig)).toContain('api_key = "env:ZAI_API_KEY"');
    const files = () => readdirSync(dirname(config)).toSorted();
    expect(files()).toEqual(["config.toml", "config.toml.before-deltawire"]);
    const secondRun = await migrate(["--write"]);
    expect(secondRun).toEqual({
      code: 0,
      out: 'Nothing to do: no provider in ~/.codex/config.toml has wire_api = "chat".\n',
      err: "",
    });
    expect(files()).toEqual(["config.toml", "config.toml.before-deltawire"]);
  });

  test("--json includes the backup", async () => {
    const { out } = await migrate(["--write", "--json"]);
    expect(JSON.parse(out)).toMatchObject({ written: true, backup: `${config}.before-deltawire` });
  });

  test("an older backup is not overwritten", async () => {
    put(`${config}.before-deltawire`, "oldest");
    put(`${config}.before-deltawire-2`, "older");
    await migrate(["--write"]);
    expect(read(`${config}.before-deltawire`)).toBe("oldest");
    expect(read(`${config}.before-deltawire-2`)).toBe("older");
    expect(read(`${config}.before-deltawire-3`)).toBe(codexText);
  });

  test("the file keeps its mode; new files are readable only by their owner", async () => {
    chmodSync(config, 0o640);
    await migrate(["--write"]);
    const mode = (file: string) => (statSync(file).mode & 0o777).toString(8);
    expect([config, `${config}.before-deltawire`, gatewayConfig].map(mode)).toEqual([
      "640",
      "600",
      "600",
    ]);
  });

  test("a symbolic link stays one, and the backup is next to the link, not its target", async () => {
    const real = join(home, "dotfiles", "codex.toml");
    put(real, codexText);
    rmSync(config);
    symlinkSync(real, config);
    await migrate(["--write"]);
    expect(lstatSync(config).isSymbolicLink()).toBe(true);
    expect(read(real)).toContain('wire_api = "responses"');
    expect(readdirSync(dirname(real))).toEqual(["codex.toml"]);
    expect(read(`${config}.before-deltawire`)).toBe(codexText);
  });

  test("upstreams are added to an existing deltawire.toml, and Codex gets its port", async () => {
    put(gatewayConfig, "[server]\nport = 5151\n");
    await migrate(["--write"]);
    expect(read(gatewayConfig)).toMatch(/^\[server\]\nport = 5151\n\n\[upstreams\.zai\]\n/);
    expect(read(config)).toContain('base_url = "http://127.0.0.1:5151/v1"');
  });
});

describe("the files", () => {
  test("can be passed, or are found by CODEX_HOME and XDG_CONFIG_HOME", async () => {
    put(join(home, "work", "mine.toml"), codexText);
    const named = await migrate(["mine.toml"]);
    expect(named.out).toContain("--- mine.toml\n");
    expect(named.out).toContain("1. deltawire migrate mine.toml --write\n");
    put(join(home, "elsewhere", "config.toml"), codexText);
    const env = { CODEX_HOME: join(home, "elsewhere"), XDG_CONFIG_HOME: join(home, "xdg") };
    const { out } = await migrate(["--json"], { env });
    expect(JSON.parse(out).changes.map(({ file }: { file: string }) => file)).toEqual([
      join(home, "elsewhere", "config.toml"),
      join(home, "xdg", "deltawire", "deltawire.toml"),
    ]);
  });

  test("of this folder are changed if they are passed, else mentioned", async () => {
    const here = join(home, "work", "deltawire.toml");
    put(here, "");
    expect((await migrate([])).out).toContain("uses ./deltawire.toml instead");
    const { out } = await migrate(["--write", "--config", "deltawire.toml"]);
    expect(out).not.toContain("instead");
    expect(read(here)).toContain("[upstreams.zai]");
  });

  test("use another port if one is passed, including in the next step", async () => {
    const { out } = await migrate(["--port", "5000"]);
    expect(out).toContain('+base_url = "http://127.0.0.1:5000/v1"\n');
    expect(out).toContain("deltawire --port 5000\n");
  });

  test("need not exist, unless they are passed", async () => {
    rmSync(config);
    expect(await migrate([])).toMatchObject({ code: 0, err: "" });
    expect(await migrate(["no.toml"])).toMatchObject({
      code: 1,
      out: "",
      err: expect.stringContaining("no.toml does not exist"),
    });
  });
});

describe("an error", () => {
  test("is printed with the line, exits with 1, and nothing is written", async () => {
    const text = codexText.replace("https://", "https://me:verysecret@");
    put(config, text);
    const { code, out, err } = await migrate(["--write"]);
    expect([code, out]).toEqual([1, ""]);
    expect(err).toMatch(
      /^~\/\.codex\/config\.toml:7: model_providers\.zai\.base_url: must not contain a user name/,
    );
    expect(err).not.toContain("verysecret");
    expect(read(config)).toBe(text);
    const json = await migrate(["--json"]);
    expect(json).toMatchObject({ code: 1, err: "" });
    expect(JSON.parse(json.out)).toEqual({ error: err.trimEnd() });
  });

  test("is printed for a folder, and for a file that is not UTF-8", async () => {
    rmSync(config);
    mkdirSync(config);
    expect(await migrate([])).toMatchObject({ code: 1, err: expect.stringContaining("EISDIR") });
    rmSync(config, { recursive: true });
    writeFileSync(config, Buffer.from('a = "\xE9"', "latin1"));
    expect(await migrate([])).toMatchObject({
      code: 1,
      err: expect.stringContaining("must be UTF-8"),
    });
  });

  test.each([[["--wirte"]], [["a", "b"]], [["--port", "x"]]])(
    "in the arguments is a usage error: %j",
    async (args) => {
      await expect(migrate(args)).rejects.toThrow(UsageError);
    },
  );
});

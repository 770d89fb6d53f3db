import { existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { openStore } from "@deltawire/store";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import {
  canRunPostgres,
  startPostgres,
  type PostgresServer,
} from "../../../test/postgres-server.ts";
import { isAccessKeyToken } from "../src/security/access-key-format.ts";
import { startDeltawire, temporaryFolder } from "./deltawire-process.ts";
import { testGateway, waitUntil } from "./gateway-fixture.ts";
import { runCommand, type CommandResult } from "./run-command.ts";
import { scriptedUpstream } from "./scripted-upstream.ts";
import type { TestGateway } from "./test-gateway.ts";

// Processes are started, which takes long on a busy machine.
vi.setConfig({ testTimeout: 90_000 });

/** No gateway listens there. */
const noGateway = ["--port", "9"];

/** Runs `keys` in one folder, as a user does. */
function keysIn(cwd: string, more: string[] = noGateway) {
  return (...args: string[]): Promise<CommandResult> =>
    runCommand(["keys", ...args, ...more], { cwd });
}

const fetchModels = (gateway: Pick<TestGateway, "url">, token?: string) =>
  fetch(`${gateway.url}/v1/models`, {
    headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
  });

describe("without a gateway, keys are stored in the database file", () => {
  test("create prints only the key on standard output, and what it may be used for on standard error", async () => {
    const keys = keysIn(temporaryFolder());
    const { code, stdout, stderr } = await keys("create", "phone");
    const key = stdout.trim();
    expect([code, stdout, isAccessKeyToken(key)]).toEqual([0, `${key}\n`, true]);
    expect(stderr).toMatch(
      /^Created the access key "phone" \(scopes models, tasks, chats\)\. Save it now: it is not shown again\.\nStore: \S+deltawire\.db\nThis is the first key: within 4 s, all requests need a key\. Clients and pages that send none get a 401/,
    );
    const line =
      "create ci --owner phone --scopes admin,models --expires 2099-01-31 --requests-per-minute 60 --tokens-per-day 100000 --cost-per-day 2.5 --cost-per-month 20";
    const second = await keys(...line.split(" "));
    expect(second.stderr.split("\n")[0]).toBe(
      'Created the access key "ci" (owner phone; scopes models, admin; expires 2099-01-31T00:00:00.000Z; 60 requests/minute; 100000 tokens/day; cost 2.5/day; cost 20/month). Save it now: it is not shown again.',
    );
    expect(second.stderr).toContain(
      "Warning: a key with a budget can only use models with a price, and no model in [models] has one.",
    );
  });

  test("list shows a table, or JSON for programs, and never a key", async () => {
    const keys = keysIn(temporaryFolder());
    const empty = await keys("list");
    expect([empty.code, empty.stdout]).toEqual([
      0,
      "No access keys. Create one with: deltawire keys create NAME\n",
    ]);
    const key = (await keys("create", "phone")).stdout.trim();
    await keys("create", "ci", "--scopes", "models", "--requests-per-minute", "60");
    await keys("revoke", "ci");
    const { stdout } = await keys("list");
    const [header = "", ...rows] = stdout.trimEnd().split("\n");
    expect(header).toMatch(/^NAME +ID +KEY +OWNER +SCOPES +STATE +LAST USED +EXPIRES +LIMITS$/);
    expect(rows[0]).toMatch(
      new RegExp(
        `^phone +key_\\w+ +…${key.slice(-4)} +phone +models,tasks,chats +active +never +never +none$`,
      ),
    );
    expect(rows[1]).toMatch(
      /^ci +key_\w+ +…\w{4} +ci +models +revoked +never +never +60 requests\/minute$/,
    );
    const json = await keys("list", "--json");
    expect(JSON.parse(json.stdout)).toMatchObject({
      keys: [
        { name: "phone", state: "active", scopes: ["models", "tasks", "chats"], limits: {} },
        { name: "ci", state: "revoked", limits: { requests_per_minute: 60 } },
      ],
    });
    expect(stdout + json.stdout).not.toContain(key);
  });

  test("no file contains a key, only its hash", async () => {
    const cwd = temporaryFolder();
    const data = join(cwd, "data");
    const keys = keysIn(cwd, [...noGateway, "--data", data]);
    const key = (await keys("create", "phone")).stdout.trim();
    const files = readdirSync(data).map((name) => readFileSync(join(data, name), "latin1"));
    expect(files.join("")).toContain("phone");
    expect(files.join("")).not.toContain(key.slice(4, 30));
  });

  test("revoke and remove accept a name or an id", async () => {
    const keys = keysIn(temporaryFolder());
    for (const name of ["a", "b b"]) await keys("create", name);
    const ids = (
      JSON.parse((await keys("list", "--json")).stdout) as { keys: { id: string }[] }
    ).keys.map(({ id }) => id);
    const unrevoked = await keys("remove", "a");
    expect([unrevoked.code, unrevoked.stderr]).toEqual([
      1,
      'the access key "a" has not been revoked; revoke it before you remove it\n',
    ]);
    expect(await keys("revoke", "a")).toEqual({
      code: 0,
      stdout: 'Revoked the access key "a". Gateways reject it within 4 s.\n',
      stderr: "",
    });
    expect((await keys("revoke", ids[1] ?? "")).stdout).toContain('"b b"');
    expect((await keys("remove", "a")).stdout).toBe('Removed the access key "a".\n');
    const last = await keys("remove", ids[1] ?? "");
    expect(last.stderr).toBe("No keys are left: from now on, requests need none.\n");
    expect((await keys("list")).stdout).toMatch(/^No access keys/);
  });

  test("the name of a key can be used again once it is revoked", async () => {
    const keys = keysIn(temporaryFolder());
    await keys("create", "phone");
    const taken = await keys("create", "phone");
    expect([taken.code, taken.stdout, taken.stderr]).toEqual([
      1,
      "",
      'an access key "phone" already exists; revoke it first, or choose another name\n',
    ]);
    await keys("revoke", "phone");
    const next = await keys("create", "phone");
    expect([next.code, next.stderr]).toEqual([
      0,
      expect.stringContaining(
        'The owner "phone" already exists: the key can access all chats, tasks and files of this owner.',
      ),
    ]);
    expect((await keys("create", "laptop")).stderr).not.toContain("already exists");
    const { code, stderr } = await keys("remove", "phone");
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(
        /^the access key "phone" has not been revoked; to remove the revoked key of this name, use the id: key_\w+\n$/,
      ),
    ]);
    expect((await keys("remove", /key_\w+/.exec(stderr)?.[0] ?? "")).code).toBe(0);
  });

  test("a new key is given the data of its owner with a notice, even if the earlier key was removed", async () => {
    const cwd = temporaryFolder();
    const path = join(cwd, "chats.db");
    const store = await openStore({ path });
    const file = { filename: "a", purpose: "user_data", mediaType: "text/plain", size: 1 };
    await store.addFile(
      { ...file, fileId: "file_1", owner: "phone", createdAt: 1 },
      new Uint8Array(1),
      1000,
    );
    await store.close();
    const toml = `[store]\npath = ${JSON.stringify(path)}\n[models.m]\nuse = "demo/clean"\nprice_input = 1\nprice_output = 1\n`;
    const { code, stderr } = await runCommand(
      ["keys", "create", "phone", "--cost-per-day", "5", ...noGateway],
      { toml },
    );
    expect([code, stderr]).toEqual([0, expect.stringContaining('"phone" already exists')]);
    expect(stderr).toContain(`Store: ${path}\n`);
    expect(stderr).not.toContain("Warning");
  });

  test("list, revoke and remove do not create a database file, and list names the store", async () => {
    const cwd = temporaryFolder();
    const data = join(cwd, "data");
    const keys = keysIn(cwd, [...noGateway, "--data", data]);
    const { code, stderr } = await keys("list");
    expect([code, stderr]).toEqual([
      0,
      `Store: ${join(data, "deltawire.db")} (does not exist yet)\n`,
    ]);
    expect((await keys("revoke", "phone")).stderr).toContain('access key "phone" not found');
    expect((await keys("remove", "phone")).stderr).toContain('access key "phone" not found');
    expect(existsSync(join(data, "deltawire.db"))).toBe(false);
  });

  test("a gateway that starts later accepts them", async () => {
    const cwd = temporaryFolder();
    const key = (await keysIn(cwd)("create", "phone")).stdout.trim();
    const server = startDeltawire(["--port", "0"], { cwd });
    const gateway = { url: await server.url };
    expect((await fetchModels(gateway)).status).toBe(401);
    expect((await fetchModels(gateway, key)).status).toBe(200);
    server.child.kill("SIGTERM");
    await server.ended;
    expect(server.stdout() + server.stderr()).not.toContain(key);
  });
});

describe("with a running gateway", () => {
  async function startGateway(toml = "") {
    const cwd = temporaryFolder();
    const data = join(cwd, "data");
    mkdirSync(data);
    const gateway = await testGateway(`[server]\nport = 0\ndemo = true\n${toml}`, {
      dataFolder: data,
    });
    const { port } = new URL(gateway.url);
    return { gateway, cwd, keys: keysIn(cwd, ["--port", port, "--data", data]), port, data };
  }

  test("keys take effect immediately, without a token of the configuration", async () => {
    const { gateway, keys, port } = await startGateway();
    const { stdout, stderr, code } = await keys("create", "phone");
    const key = stdout.trim();
    gateway.sentSecrets.add(key);
    expect([code, stderr]).toEqual([
      0,
      expect.stringContaining(`Store: the gateway http://127.0.0.1:${port}\n`),
    ]);
    expect((await fetchModels(gateway)).status).toBe(401);
    expect((await fetchModels(gateway, key)).status).toBe(200);
    expect((await keys("create", "laptop")).stderr).not.toContain("first key");
    expect((await keys("list")).stdout.split("\n")).toHaveLength(4);
    expect((await keys("revoke", "phone")).code).toBe(0);
    expect((await fetchModels(gateway, key)).status).toBe(401);
    expect((await keys("revoke", "nobody")).stderr).toContain('access key "nobody" not found');
    expect((await keys("remove", "phone")).code).toBe(0);
    expect((await keys("list")).stdout).not.toContain("phone");
  });

  test("its other commands work too, with the folder of the gateway", async () => {
    const { keys, cwd, port, data } = await startGateway();
    await keys("create", "phone");
    const run = (command: string, ...args: string[]) =>
      runCommand([command, "--port", port, ...args], { cwd });
    expect((await run("models", "--data", data)).stdout).toContain("demo/clean");
    expect((await run("lessons", "--data", data)).stdout).toBe("No lessons so far.\n");
    const { code, stderr } = await run("lessons");
    expect([code, stderr]).toEqual([
      1,
      `GET http://127.0.0.1:${port}/deltawire/lessons failed with status 401, because the gateway expects another token; pass its folder with --data, or set DELTAWIRE_TOKEN to one of its tokens or to an access key\n`,
    ]);
  });

  test("an access key with the scope admin in DELTAWIRE_TOKEN administers it, from any folder", async () => {
    const { gateway, keys, port } = await startGateway();
    const admin = (await keys("create", "admin", "--scopes", "admin")).stdout.trim();
    const phone = (await keys("create", "phone")).stdout.trim();
    for (const key of [admin, phone]) gateway.sentSecrets.add(key);
    const list = (token: string) =>
      runCommand(["keys", "list", "--port", port], { env: { DELTAWIRE_TOKEN: token } });
    expect((await list(admin)).stdout).toContain("phone");
    const { code, stderr } = await list(phone);
    expect([code, stderr]).toEqual([
      1,
      `GET http://127.0.0.1:${port}/deltawire/keys failed with status 403: the access key "phone" lacks the scope admin; use a key that has it\n`,
    ]);
  });

  test("another program at its port receives neither keys nor tokens", async () => {
    const other = await scriptedUpstream((_request, response) => void response.end("{}"));
    onTestFinished(() => other.close());
    const cwd = temporaryFolder();
    const { code } = await keysIn(cwd, ["--port", new URL(other.url).port])("create", "phone");
    expect(code).toBe(0);
    expect(other.requests).toEqual([]);
  });
});

describe.skipIf(!canRunPostgres)("with a PostgreSQL database", () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await startPostgres();
  }, 600_000);
  afterAll(() => server.stop());

  test("keys are stored there while gateways use it, which accept them within seconds", async () => {
    const toml = '[server]\nport = 0\ndemo = true\n[store]\nurl = "env:DB"\n';
    const env = { DB: server.url };
    const gateway = await testGateway(toml, { env });
    const cwd = temporaryFolder(toml.replace("port = 0", "port = 9"));
    const keys = (...args: string[]) => runCommand(["keys", ...args], { cwd, env });
    const { stdout, stderr } = await keys("create", "phone");
    const key = stdout.trim();
    const { host, pathname } = new URL(server.url);
    expect(stderr).toContain(`Store: postgres://${host}${pathname}, schema deltawire\n`);
    gateway.sentSecrets.add(key);
    expect((await fetchModels(gateway, key)).status).toBe(200);
    await waitUntil(
      "a key is required",
      async () => (await fetchModels(gateway)).status === 401,
      4000,
    );
    const revokedAt = performance.now();
    expect((await keys("revoke", "phone")).code).toBe(0);
    const isRejected = async () => (await fetchModels(gateway, key)).status === 401;
    await waitUntil("the key is rejected", isRejected, 4000);
    expect(performance.now() - revokedAt).toBeLessThan(4000);
    expect((await keys("list")).stdout).toMatch(/phone .* revoked/);
    expect(existsSync(join(cwd, ".local"))).toBe(false);
  });

  test("the other commands work with the folder of each gateway, which has no sealing key", async () => {
    const toml = '[server]\nport = 0\ndemo = true\n[store]\nurl = "env:DB"\nschema = "commands"\n';
    const env = { DB: server.url };
    const [shared, own] = [temporaryFolder(), temporaryFolder()];
    const gateways = await Promise.all(
      [shared, shared, own].map(async (dataFolder) => ({
        dataFolder,
        gateway: await testGateway(toml, { env, dataFolder }),
      })),
    );
    const { code } = await runCommand(["keys", "create", "laptop"], { toml, env });
    expect(code).toBe(0);
    for (const { dataFolder, gateway } of gateways) {
      await waitUntil(
        "a key is required",
        async () => (await fetchModels(gateway)).status === 401,
        4000,
      );
      expect(existsSync(join(dataFolder, "seal.key"))).toBe(false);
      const run = (command: string, data: string) =>
        runCommand([command, "--port", new URL(gateway.url).port, "--data", data], { toml, env });
      expect(await run("lessons", dataFolder)).toEqual({
        code: 0,
        stdout: "No lessons so far.\n",
        stderr: "",
      });
      expect((await run("models", dataFolder)).stdout).toContain("demo/clean");
      const other = await run("lessons", dataFolder === own ? shared : own);
      expect([other.code, other.stderr]).toEqual([1, expect.stringContaining("status 401")]);
    }
  });

  test("a database that cannot be reached is an error without its password", async () => {
    const toml = '[store]\nurl = "env:DB"\n';
    const env = { DB: "postgres://me:geheim@127.0.0.1:9/none" };
    const { code, stdout, stderr } = await runCommand(["keys", "list"], { toml, env });
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toContain("cannot be reached");
    expect(stderr).not.toMatch(/geheim|\n\s+at /);
  });
});

describe("a store that another process uses", () => {
  test("is an error that says what to do", async () => {
    const cwd = temporaryFolder();
    const store = await openStore({ path: join(cwd, "chats.db") });
    onTestFinished(() => store.close());
    const toml = `[store]\npath = ${JSON.stringify(join(cwd, "chats.db"))}\n`;
    const { code, stderr } = await runCommand(["keys", "list", ...noGateway], { toml });
    expect(code).toBe(1);
    expect(stderr).toMatch(/if that process is a gateway, pass its --host and --port$/m);
  });

  test("a configuration without a store needs a running gateway", async () => {
    const toml = "[store]\nenabled = false\n";
    const { code, stderr } = await runCommand(["keys", "list", ...noGateway], { toml });
    expect([code, stderr]).toEqual([
      2,
      "the configuration has no store (store.enabled = false), and no gateway is running; access keys need one of them\n",
    ]);
  });
});

describe("an invalid command exits with 2 and one line that helps, and stores nothing:", () => {
  const create = ["create", "phone"];
  test.each([
    [[], /^keys needs an action; use create, list, revoke or remove/],
    [["creat", "phone"], /^unknown action "creat" \(did you mean create\?\)/],
    [["create"], /^keys create needs the name of a key; keys --help/],
    [["revoke"], /^keys revoke needs the name of a key/],
    [["create", "my", "phone"], /unexpected argument "phone"; quote names with spaces/],
    [["list", "phone"], /^keys list: unexpected argument "phone"/],
    [["create", " "], /^keys create: name: must not be empty/],
    [["create", "x".repeat(101)], /^keys create: name: /],
    [[...create, "--owner", ""], /^keys create: owner: must not be empty/],
    [[...create, "--scopes", "models,chat"], /unknown scope "chat" \(did you mean chats\?\)/],
    [[...create, "--scopes", ""], /unknown scope ""; use one or more of models,tasks,chats,admin/],
    [[...create, "--expires", "soon"], /expected a duration such as 12h, 30d or 8w/],
    [[...create, "--expires", "2020-01-01"], /expected a time in the future/],
    [[...create, "--expires", "1m"], /"1m" could mean minutes or months; use .* 12h, 30d or 8w$/m],
    [[...create, "--expires", "0d"], /expected a time in the future/],
    [[...create, "--expires", "2099-02-31"], /expected a duration .* got "2099-02-31"/],
    [[...create, "--requests-per-minute", "1.5"], /expected a whole number above 0, got "1.5"/],
    [[...create, "--tokens-per-day", "0"], /--tokens-per-day: expected a whole number above 0/],
    [[...create, "--cost-per-day", "free"], /--cost-per-day: expected a number above 0/],
    [[...create, "--cost-per-month", "Infinity"], /--cost-per-month: expected a number above 0/],
    [["list", "--scopes", "models"], /^--scopes only works with keys create/],
    [["revoke", "phone", "--expires", "1d"], /^--expires only works with keys create/],
    [
      [...create, "--scope", "models"],
      /unknown flag --scope \(did you mean --scopes\?\); keys --help/,
    ],
    [[...create, "--owner"], /--owner needs a value, for example --owner alice/],
  ])("%j", async (args, message) => {
    const cwd = temporaryFolder();
    const { code, stdout, stderr } = await keysIn(cwd)(...args);
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toMatch(message);
    expect(stderr.trim().split("\n")).toHaveLength(1);
    expect(readdirSync(cwd)).toEqual([]);
  });
});

test("flags may precede the command, and durations have several units", async () => {
  const cwd = temporaryFolder();
  const expiries: number[] = [];
  for (const [index, duration] of ["12h", "30d", "8w"].entries()) {
    const line = [...noGateway, "--json", "keys", "create", `key ${index}`, "--expires", duration];
    const { stdout } = await runCommand(line, { cwd });
    const { expires_at, created_at } = JSON.parse(stdout) as Record<string, string>;
    expiries.push(
      Math.round((Date.parse(expires_at ?? "") - Date.parse(created_at ?? "")) / 60_000),
    );
  }
  expect(expiries).toEqual([12 * 60, 30 * 24 * 60, 8 * 7 * 24 * 60]);
});

import { chmodSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { loadLocalToken, readLocalToken } from "../src/security/local-token.ts";
import { temporaryFolder } from "./deltawire-process.ts";

const load = (dataFolder: string | undefined, sealingKey?: string) =>
  loadLocalToken({
    sealingKey,
    dataFolder,
    onWarning: (_message, cause) => {
      throw cause;
    },
  });
const read = (dataFolder: string, sealingKey?: string) =>
  readLocalToken({ sealingKey, dataFolder });

describe("the token for commands on this machine", () => {
  test("is created in the data folder once, and only its owner can read it", () => {
    const folder = join(temporaryFolder(), "deeper", "data");
    expect(read(folder)).toBeUndefined();
    const token = load(folder);
    expect(token).toMatch(/^[\w-]{43}$/);
    expect([load(folder), read(folder)]).toEqual([token, token]);
    expect(readdirSync(folder)).toEqual(["local.token"]);
    const file = join(folder, "local.token");
    expect(statSync(file).mode & 0o777).toBe(0o600);
    chmodSync(file, 0o644);
    expect(read(folder)).toBe(token);
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  test("is another one in each folder, and for each gateway without a folder", () => {
    const tokens = [temporaryFolder(), temporaryFolder(), undefined, undefined].map((folder) =>
      load(folder),
    );
    expect(new Set(tokens).size).toBe(4);
  });

  test("follows from a configured sealing key, from any folder", () => {
    const token = load(undefined, "a configured key");
    expect(read(temporaryFolder(), "a configured key")).toBe(token);
    expect(load(temporaryFolder(), "another key")).not.toBe(token);
    expect(token).not.toContain("configured");
  });

  test("that is damaged is an error, and is not overwritten", () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, "local.token"), "short");
    for (const use of [load, read]) expect(() => use(folder)).toThrow(/local\.token is damaged/);
    expect(readFileSync(join(folder, "local.token"), "utf8")).toBe("short");
  });

  test("is temporary, with a message, if the folder cannot be written", () => {
    const file = join(temporaryFolder("", "file"), "file");
    const messages: string[] = [];
    const start = () =>
      loadLocalToken({
        sealingKey: undefined,
        dataFolder: file,
        onWarning: (message) => messages.push(message),
      });
    expect(start()).not.toBe(start());
    expect(messages[0]).toContain("they need DELTAWIRE_TOKEN");
  });
});

import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { EnvelopeCipher, isEnvelope } from "../src/reasoning/envelope-cipher.ts";
import { loadOrCreateSealingKey } from "../src/reasoning/sealing-key.ts";
import { ReasoningCache } from "../src/reasoning/reasoning-cache.ts";

const carry = { details: [{ type: "reasoning.encrypted", data: "signature" }], opaque: "o" };

describe("an envelope", () => {
  const envelopes = new EnvelopeCipher(Buffer.alloc(32, 1));

  test("can be opened for the upstream that it was sealed for", () => {
    const sealed = envelopes.seal("https://a.example/v1", carry);
    expect(envelopes.unseal("https://a.example/v1", sealed)).toEqual(carry);
  });

  test("does not reveal its contents, and differs each time", () => {
    const sealed = envelopes.seal("https://a.example/v1", carry);
    expect(Buffer.from(sealed.slice(4), "base64url").toString("latin1")).not.toContain("signature");
    expect(envelopes.seal("https://a.example/v1", carry)).not.toBe(sealed);
  });

  test("cannot be opened for another upstream, by another gateway, or after a change", () => {
    const sealed = envelopes.seal("https://a.example/v1", carry);
    expect(envelopes.unseal("https://b.example/v1", sealed)).toBeUndefined();
    expect(
      new EnvelopeCipher(Buffer.alloc(32, 2)).unseal("https://a.example/v1", sealed),
    ).toBeUndefined();
    for (const foreign of ["", "dw1.", "dw1.AAAA", `${sealed.slice(0, -3)}AAA`, "gAAAAABforeign"])
      expect(envelopes.unseal("https://a.example/v1", foreign)).toBeUndefined();
  });

  test("is recognized by its prefix", () => {
    expect(isEnvelope(envelopes.seal("u", carry))).toBe(true);
    expect(isEnvelope("gAAAAAB")).toBe(false);
  });
});

describe("the sealing key", () => {
  const folders: string[] = [];
  const folder = (): string => {
    const folder = mkdtempSync(join(tmpdir(), "deltawire-key-"));
    folders.push(folder);
    return folder;
  };
  afterEach(() => {
    for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
  });

  test("is created once, and loaded at the next start", () => {
    const place = join(folder(), "deeper", "deltawire");
    const key = loadOrCreateSealingKey(place);
    expect(key).toHaveLength(32);
    expect(loadOrCreateSealingKey(place)).toEqual(key);
  });

  test("is readable only by its owner, even if permissions were widened", () => {
    const place = folder();
    loadOrCreateSealingKey(place);
    const file = join(place, "seal.key");
    expect(statSync(file).mode & 0o777).toBe(0o600);
    chmodSync(file, 0o644);
    loadOrCreateSealingKey(place);
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  test("that is damaged is an error, and is not overwritten", () => {
    const place = folder();
    writeFileSync(join(place, "seal.key"), "short");
    expect(() => loadOrCreateSealingKey(place)).toThrow(/seal\.key.*32 bytes/);
    expect(readFileSync(join(place, "seal.key"), "utf8")).toBe("short");
  });
});

describe("the reasoning of a call", () => {
  test("is found by id, upstream and conversation", () => {
    const cache = new ReasoningCache();
    cache.store("a", "talk", ["call_1", "call_2"], { reasoning: "because" });
    expect(cache.lookup("a", "talk", "call_2")).toEqual({ reasoning: "because" });
    expect(cache.lookup("b", "talk", "call_2")).toBeUndefined();
    expect(cache.lookup("a", "other talk", "call_2")).toBeUndefined();
    expect(cache.lookup("a", "talk", "call_3")).toBeUndefined();
  });

  test("is limited in size; the least recently used entries are dropped", () => {
    const cache = new ReasoningCache();
    const long = "x".repeat(4 * 1024 * 1024);
    for (let call = 0; call < 7; call += 1)
      cache.store("a", "talk", [`call_${call}`], { reasoning: long });
    expect(cache.lookup("a", "talk", "call_0")).toBeDefined();
    cache.store("a", "talk", ["call_7"], { reasoning: long });
    expect(cache.lookup("a", "talk", "call_0")).toBeDefined();
    expect(cache.lookup("a", "talk", "call_1")).toBeUndefined();
  });
});

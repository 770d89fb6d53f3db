import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { Envelopes, isEnvelope } from "../src/reasoning/envelope.ts";
import { sealingKey } from "../src/reasoning/key-file.ts";
import { ReasoningCache } from "../src/reasoning/reasoning-cache.ts";

const carry = { details: [{ type: "reasoning.encrypted", data: "signature" }], opaque: "o" };

describe("an envelope", () => {
  const envelopes = new Envelopes(Buffer.alloc(32, 1));

  test("is opened for the upstream that it was sealed for", () => {
    const sealed = envelopes.seal("https://a.example/v1", carry);
    expect(envelopes.unseal("https://a.example/v1", sealed)).toEqual(carry);
  });

  test("does not show what is in it, nor the same twice", () => {
    const sealed = envelopes.seal("https://a.example/v1", carry);
    expect(Buffer.from(sealed.slice(4), "base64url").toString("latin1")).not.toContain("signature");
    expect(envelopes.seal("https://a.example/v1", carry)).not.toBe(sealed);
  });

  test("is nothing to another upstream, another gateway, or when it was touched", () => {
    const sealed = envelopes.seal("https://a.example/v1", carry);
    expect(envelopes.unseal("https://b.example/v1", sealed)).toBeUndefined();
    expect(
      new Envelopes(Buffer.alloc(32, 2)).unseal("https://a.example/v1", sealed),
    ).toBeUndefined();
    for (const foreign of ["", "dw1.", "dw1.AAAA", `${sealed.slice(0, -3)}AAA`, "gAAAAABforeign"])
      expect(envelopes.unseal("https://a.example/v1", foreign)).toBeUndefined();
  });

  test("is known as ours by its first characters", () => {
    expect(isEnvelope(envelopes.seal("u", carry))).toBe(true);
    expect(isEnvelope("gAAAAAB")).toBe(false);
  });
});

describe("the sealing key", () => {
  const folders: string[] = [];
  const folder = (): string => {
    const made = mkdtempSync(join(tmpdir(), "deltawire-key-"));
    folders.push(made);
    return made;
  };
  afterEach(() => {
    for (const made of folders.splice(0)) rmSync(made, { recursive: true });
  });

  test("is made once, and found again at the next start", () => {
    const place = join(folder(), "deeper", "deltawire");
    const key = sealingKey(place);
    expect(key).toHaveLength(32);
    expect(sealingKey(place)).toEqual(key);
  });

  test("can be read by its owner only, also after somebody loosened its rights", () => {
    const place = folder();
    sealingKey(place);
    const file = join(place, "seal.key");
    expect(statSync(file).mode & 0o777).toBe(0o600);
    chmodSync(file, 0o644);
    sealingKey(place);
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  test("that is damaged is told of and left where it is", () => {
    const place = folder();
    writeFileSync(join(place, "seal.key"), "short");
    expect(() => sealingKey(place)).toThrow(/seal\.key.*32 bytes/);
    expect(readFileSync(join(place, "seal.key"), "utf8")).toBe("short");
  });
});

describe("the reasoning of a call", () => {
  test("is found by its id, for its own upstream and conversation", () => {
    const cache = new ReasoningCache();
    cache.store("a", "talk", ["call_1", "call_2"], { reasoning: "because" });
    expect(cache.lookup("a", "talk", "call_2")).toEqual({ reasoning: "because" });
    expect(cache.lookup("b", "talk", "call_2")).toBeUndefined();
    expect(cache.lookup("a", "other talk", "call_2")).toBeUndefined();
    expect(cache.lookup("a", "talk", "call_3")).toBeUndefined();
  });

  test("is bounded: what was not used for longest goes first", () => {
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

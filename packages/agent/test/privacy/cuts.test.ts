import { defineTool, MemoryBlobs, MemoryLog } from "@deltawire/agent";
import { blobPath } from "@deltawire/tasks";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Cuts } from "../../src/cuts.ts";
import { longestForModel, pageOf, shorten } from "../../src/calls/long-results.ts";
import { messageParts } from "../../src/chats/attachments.ts";
import { pdfTextOf } from "../../src/chats/pdf-text.ts";
import { titleRequest } from "../../src/chats/title.ts";
import { able } from "../chats/abilities.ts";
import { smallPdf } from "../chats/small-pdf.ts";
import {
  ended,
  resultsIn,
  scriptedAgent,
  start,
  textOf,
  textOfLog,
  toldResults,
} from "../run-kit.ts";
import { formsOf, newVault, privateText, values } from "./private-texts.ts";

const name = "Ada Lovelace";
const card = "4111 1111 1111 1111";

/** A text of words that has a value at a place. */
function textWith(value: string, at: number, length: number): string {
  return `${"w ".repeat(at / 2)}${value} ${"w ".repeat((length - at) / 2)}`;
}

/** Whether a piece of a value, of some length, is in a text. */
function hasPieceOf(text: string, value: string): boolean {
  const size = 4;
  return Array.from({ length: value.length - size + 1 }, (_, at) => at).some((at) =>
    text.includes(value.slice(at, at + size)),
  );
}

describe("a cut", () => {
  test("goes through no value in any spelling, wherever it was wanted", () => {
    const written = fc.constantFrom(...values.flatMap(formsOf));
    fc.assert(
      fc.property(privateText, written, privateText, fc.nat(), (before, value, after, at) => {
        const text = `${before} ${value} ${after}`;
        const start = before.length + 1;
        const wanted = start + 1 + (at % (value.length - 1));
        const cut = newVault().cutBefore(text, wanted);
        expect(cut).toBeLessThanOrEqual(start);
      }),
      { numRuns: 300 },
    );
  });

  test("is where it was wanted, where no value is", () => {
    const vault = newVault();
    const text = `one ${name} two`;
    for (const at of [0, 2, 4, text.indexOf(" two"), text.length])
      expect(vault.cutBefore(text, at)).toBe(at);
  });

  test("between a value and what tells that it is one hides it all the same", () => {
    const vault = newVault([
      { kind: "password" },
      { kind: "pattern", pattern: "(?<=code )[a-z]+", label: "code" },
    ]);
    for (const [text, value] of [
      ["the password: tiger is long", "tiger"],
      ["the code otter is long", "otter"],
    ] as const) {
      const at = vault.cutBefore(text, text.indexOf(value));
      expect(vault.mask(text.slice(at))).not.toContain(value);
    }
  });

  test("finds a private key of thousands of characters, and takes nothing for a value that it sees half of", () => {
    const key = `-----BEGIN PRIVATE KEY-----\n${"MIIEabc+/9\n".repeat(300)}-----END PRIVATE KEY-----`;
    const vault = newVault([{ kind: "key" }, { kind: "phone" }]);
    const text = textWith(key, 20_000, 40_000);
    expect(vault.cutBefore(text, 20_000 + key.length - 5)).toBe(20_000);
    const phone = "+49 170 1234567";
    const far = `${"w ".repeat(10_000)}${phone} w`;
    const before = vault.size;
    // What is looked at ends behind "+49 170 12345".
    vault.cutBefore(far, far.indexOf(phone) + 13 - 8000);
    expect(vault.size).toBe(before);
  });

  test("goes through a value that is longer than any should be, whose beginning is masked", () => {
    const key = `-----BEGIN PRIVATE KEY-----\n${"MIIEabc+/9\n".repeat(1500)}-----END PRIVATE KEY-----`;
    const vault = newVault([{ kind: "key" }]);
    expect(vault.cutBefore(key, 12_000)).toBe(12_000);
    expect(vault.mask(key.slice(0, 12_000))).toBe("{{KEY_1_x7f3}}");
  });
});

describe("no piece of a value is told", () => {
  test("at the end of a long result, of one part or of several", async () => {
    const vault = newVault();
    for (const at of [longestForModel - 6, longestForModel - 10]) {
      const whole = textWith(name, at, 50_000);
      for (const texts of [[whole], [whole.slice(0, 10_000), whole.slice(10_000)]]) {
        const { output } = await shorten(
          { message_content: texts.map((text) => ({ type: "text", text })), block_list: [] },
          "call_1",
          new MemoryBlobs(),
          { cuts: vault },
        );
        const told = JSON.stringify(output.message_content);
        expect(hasPieceOf(vault.mask(told), name)).toBe(false);
        const end = Number(/cut: (\d+) of/.exec(told)?.[1]);
        expect(pageOf(whole, "call_1", end - (texts.length - 1), { cuts: vault })).toContain(name);
      }
    }
  });

  test("by a page, at whatever offset it is read", () => {
    const vault = newVault();
    const text = `${textWith(name, 32_000, 60_000)}${textWith(card, 3000, 40_000)}`;
    fc.assert(
      fc.property(
        fc.oneof(
          fc.integer({ min: 31_990, max: 32_020 }),
          fc.integer({ min: text.indexOf(card) - 3, max: text.indexOf(card) + 22 }),
          // So that a page ends there.
          fc.integer({ min: 190, max: 220 }),
        ),
        (offset) => {
          const page = vault.mask(pageOf(text, "x", offset, { cuts: vault }));
          expect(hasPieceOf(page, name)).toBe(false);
          expect(hasPieceOf(page, card)).toBe(false);
        },
      ),
      { numRuns: 60 },
    );
  });

  test("by pages that are read on from one to the next, which have all of the text", () => {
    const vault = newVault();
    const text = textWith(name, 31_792, 90_000);
    const pages: string[] = [];
    for (let offset: number | undefined = 0; offset !== undefined;) {
      const page = pageOf(text, "x", offset, { cuts: vault });
      const next = /\n\[cut: (\d+) of/.exec(page);
      pages.push(next === null ? page : page.slice(0, next.index));
      offset = next === null ? undefined : Number(next[1]);
    }
    expect(pages.join("")).toBe(text);
    expect(pages.length).toBeGreaterThan(2);
    for (const page of pages) expect(hasPieceOf(vault.mask(page), name)).toBe(false);
  });

  test("in a task of a chat, where a result is cut and where it is read on", async () => {
    const vault = newVault();
    const text = `${textWith(name, longestForModel - 6, 50_000)}${textWith(card, 3000, 40_000)}`;
    const get = defineTool({ name: "get", description: "", effect: "pure", run: () => text });
    const { agent, model } = scriptedAgent(
      (request, round) => {
        const told = JSON.stringify(request.input);
        const [, result = ""] = /read_result \{\\+"result\\+":\\+"([^"\\]+)/.exec(told) ?? [];
        if (round === 0) return [{ call: "get", args: {} }];
        const offset = text.indexOf(card) + 5;
        return round === 1 ? [{ call: "read_result", args: { result, offset } }] : [{ text: "." }];
      },
      { tools: [get] },
    );
    const cutsOf = (chat: string) => (chat === "chat_1" ? vault : undefined);
    await ended(await start(agent, { chat_id: "chat_1" }, { cutsOf }));
    const told = toldResults(model, 2).map((result) => vault.mask(JSON.stringify(result)));
    expect(told).toHaveLength(2);
    expect(told[1]).toMatch(/^"\{\{CARD_/);
    for (const one of told)
      for (const value of [name, card]) expect(hasPieceOf(one, value)).toBe(false);
  });

  test("to whoever makes a title", () => {
    const vault = newVault();
    const words = `${"y".repeat(1990)} ${card} ok`;
    const { input } = titleRequest({ user: words, answer: words }, vault);
    expect(hasPieceOf(vault.mask(JSON.stringify(input)), card)).toBe(false);
  });

  test("of a context, a text file or a PDF that is cut", async () => {
    const vault = newVault();
    const blobs = new MemoryBlobs();
    const text = textWith(name, 199_994, 230_000);
    const page = Array.from({ length: 40 }, () => `${name}, `.repeat(6));
    const pdf = smallPdf(Array.from({ length: 70 }, () => page));
    const urlOf = async (bytes: Buffer): Promise<string> =>
      blobPath + (await blobs.put(bytes, "application/octet-stream"));
    const [url, pdfUrl] = [await urlOf(Buffer.from(text)), await urlOf(pdf)];
    const { parts } = await messageParts(
      {
        version_id: "v",
        created_at: "2026-11-15T10:00:00Z",
        text: "",
        contexts: [{ kind: "text", title: "t", text }],
        attachments: [
          { kind: "file", url, filename: "a.txt" },
          { kind: "file", url: pdfUrl, filename: "a.pdf" },
        ],
      },
      { abilities: able, blobs, vault },
    );
    expect(parts).toHaveLength(3);
    for (const part of parts)
      expect(hasPieceOf(vault.mask(JSON.stringify(part)), name)).toBe(false);
    const plain = await pdfTextOf("hash", pdf, blobs);
    expect(hasPieceOf(vault.mask(JSON.stringify(plain)), name)).toBe(true);
  });
});

test("values that were found at a cut are stored before anything of the result is", async () => {
  const long = defineTool({ name: "fetch", description: "", run: () => "w ".repeat(20_000) });
  for (const isFull of [false, true]) {
    const { agent } = scriptedAgent([[{ call: "fetch", args: {} }]], { tools: [long] });
    const log = new MemoryLog();
    const logged: string[] = [];
    const cuts: Cuts = {
      cutBefore: (_text, at) => at - 7,
      async stored() {
        logged.push(await textOfLog({ log, id: started.id }));
        if (isFull) throw new Error("the disk is full");
      },
    };
    const started = await start(agent, { chat_id: "chat" }, { log, cutsOf: () => cuts });
    const { view } = await ended(started);
    expect(logged).toHaveLength(1);
    expect(logged.join()).not.toContain("w w ");
    const told = isFull ? "could not be kept: the disk is full" : "w w w";
    expect(textOf(resultsIn(view.output)[0])).toContain(told);
  }
});

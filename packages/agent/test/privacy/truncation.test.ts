import { defineTool, MemoryBlobs, MemoryLog } from "@deltawire/agent";
import { blobPath } from "@deltawire/tasks";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { TruncationGuard } from "../../src/truncate.ts";
import {
  maxModelCharacters,
  renderTextPage,
  truncateOutput,
} from "../../src/calls/long-results.ts";
import { renderMessageParts } from "../../src/chats/attachments.ts";
import { extractPdfTextCached } from "../../src/chats/pdf-text.ts";
import { buildTitleRequest } from "../../src/chats/title-request.ts";
import { fullCapabilities } from "../chats/capabilities.ts";
import { createPdf } from "../chats/small-pdf.ts";
import {
  waitForEnd,
  filterResults,
  scriptedAgent,
  start,
  getItemText,
  readLogText,
  getSentResults,
} from "../runtime-fixture.ts";
import { listEncodings, newVault, privateText, values } from "./private-texts.ts";

const name = "Ada Lovelace";
const card = "4111 1111 1111 1111";

/** Returns a text with a value at an index. */
function textWith(value: string, index: number, length: number): string {
  return `${"w ".repeat(index / 2)}${value} ${"w ".repeat((length - index) / 2)}`;
}

/** True if a text contains any four consecutive characters of a value. */
function containsPartOf(text: string, value: string): boolean {
  const size = 4;
  return Array.from({ length: value.length - size + 1 }, (_, index) => index).some((index) =>
    text.includes(value.slice(index, index + size)),
  );
}

describe("the position of a cut", () => {
  test("is never inside a value, in any encoding", () => {
    const written = fc.constantFrom(...values.flatMap(listEncodings));
    fc.assert(
      fc.property(privateText, written, privateText, fc.nat(), (before, value, after, index) => {
        const text = `${before} ${value} ${after}`;
        const start = before.length + 1;
        const requested = start + 1 + (index % (value.length - 1));
        const cut = newVault().cutBefore(text, requested);
        expect(cut).toBeLessThanOrEqual(start);
      }),
      { numRuns: 300 },
    );
  });

  test("is the requested one outside of values", () => {
    const vault = newVault();
    const text = `one ${name} two`;
    for (const index of [0, 2, 4, text.indexOf(" two"), text.length])
      expect(vault.cutBefore(text, index)).toBe(index);
  });

  test("may separate a value from its identifying context, as the value is then known without it", () => {
    const vault = newVault([
      { kind: "password" },
      { kind: "pattern", pattern: "(?<=code )[a-z]+", label: "code" },
    ]);
    for (const [text, value] of [
      ["the password: tiger is long", "tiger"],
      ["the code otter is long", "otter"],
    ] as const) {
      const index = vault.cutBefore(text, text.indexOf(value));
      expect(vault.mask(text.slice(index))).not.toContain(value);
    }
  });

  test("is not inside a key of thousands of characters; a value at the end of the searched context is not learned", () => {
    const key = `-----BEGIN PRIVATE KEY-----\n${"MIIEabc+/9\n".repeat(300)}-----END PRIVATE KEY-----`;
    const vault = newVault([{ kind: "key" }, { kind: "phone" }]);
    const text = textWith(key, 20_000, 40_000);
    expect(vault.cutBefore(text, 20_000 + key.length - 5)).toBe(20_000);
    const phone = "+49 170 1234567";
    const distantText = `${"w ".repeat(10_000)}${phone} w`;
    const before = vault.size;
    // The searched context ends after "+49 170 12345".
    vault.cutBefore(distantText, distantText.indexOf(phone) + 13 - 8000);
    expect(vault.size).toBe(before);
  });

  test("may be inside an overlong value, whose beginning is masked", () => {
    const key = `-----BEGIN PRIVATE KEY-----\n${"MIIEabc+/9\n".repeat(1500)}-----END PRIVATE KEY-----`;
    const vault = newVault([{ kind: "key" }]);
    expect(vault.cutBefore(key, 12_000)).toBe(12_000);
    expect(vault.mask(key.slice(0, 12_000))).toBe("{{KEY_1_x7f3}}");
  });
});

describe("the model receives no part of a private value", () => {
  test("at the end of a truncated result with one or several parts", async () => {
    const vault = newVault();
    for (const index of [maxModelCharacters - 6, maxModelCharacters - 10]) {
      const complete = textWith(name, index, 50_000);
      for (const texts of [[complete], [complete.slice(0, 10_000), complete.slice(10_000)]]) {
        const { output } = await truncateOutput(
          { message_content: texts.map((text) => ({ type: "text", text })), block_list: [] },
          "call_1",
          new MemoryBlobs(),
          { truncationGuard: vault },
        );
        const content = JSON.stringify(output.message_content);
        expect(containsPartOf(vault.mask(content), name)).toBe(false);
        const end = Number(/truncated: (\d+) of/.exec(content)?.[1]);
        expect(
          renderTextPage(complete, "call_1", end - (texts.length - 1), { truncationGuard: vault }),
        ).toContain(name);
      }
    }
  });

  test("in a page from any offset", () => {
    const vault = newVault();
    const text = `${textWith(name, 32_000, 60_000)}${textWith(card, 3000, 40_000)}`;
    fc.assert(
      fc.property(
        fc.oneof(
          fc.integer({ min: 31_990, max: 32_020 }),
          fc.integer({ min: text.indexOf(card) - 3, max: text.indexOf(card) + 22 }),
          // From these offsets, a page ends within the name.
          fc.integer({ min: 190, max: 220 }),
        ),
        (offset) => {
          const page = vault.mask(renderTextPage(text, "x", offset, { truncationGuard: vault }));
          expect(containsPartOf(page, name)).toBe(false);
          expect(containsPartOf(page, card)).toBe(false);
        },
      ),
      { numRuns: 60 },
    );
  });

  test("in consecutive pages, which together contain the complete text", () => {
    const vault = newVault();
    const text = textWith(name, 31_792, 90_000);
    const pages: string[] = [];
    for (let offset: number | undefined = 0; offset !== undefined;) {
      const page = renderTextPage(text, "x", offset, { truncationGuard: vault });
      const next = /\n\[truncated: (\d+) of/.exec(page);
      pages.push(next === null ? page : page.slice(0, next.index));
      offset = next === null ? undefined : Number(next[1]);
    }
    expect(pages.join("")).toBe(text);
    expect(pages.length).toBeGreaterThan(2);
    for (const page of pages) expect(containsPartOf(vault.mask(page), name)).toBe(false);
  });

  test("in a truncated result of a task, nor in its next page", async () => {
    const vault = newVault();
    const text = `${textWith(name, maxModelCharacters - 6, 50_000)}${textWith(card, 3000, 40_000)}`;
    const get = defineTool({ name: "get", description: "", effect: "pure", run: () => text });
    const { agent, model } = scriptedAgent(
      (request, round) => {
        const input = JSON.stringify(request.input);
        const [, result = ""] = /read_result \{\\+"result\\+":\\+"([^"\\]+)/.exec(input) ?? [];
        if (round === 0) return [{ call: "get", args: {} }];
        const offset = text.indexOf(card) + 5;
        return round === 1 ? [{ call: "read_result", args: { result, offset } }] : [{ text: "." }];
      },
      { tools: [get] },
    );
    const truncationGuardFor = (chat: string) => (chat === "chat_1" ? vault : undefined);
    await waitForEnd(await start(agent, { chat_id: "chat_1" }, { truncationGuardFor }));
    const results = getSentResults(model, 2).map((result) => vault.mask(JSON.stringify(result)));
    expect(results).toHaveLength(2);
    expect(results[1]).toMatch(/^"\{\{CARD_/);
    for (const result of results)
      for (const value of [name, card]) expect(containsPartOf(result, value)).toBe(false);
  });

  test("in the request for a title", () => {
    const vault = newVault();
    const words = `${"y".repeat(1990)} ${card} ok`;
    const { input } = buildTitleRequest({ user: words, answer: words }, vault);
    expect(containsPartOf(vault.mask(JSON.stringify(input)), card)).toBe(false);
  });

  test("in a truncated context, text file or PDF", async () => {
    const vault = newVault();
    const blobs = new MemoryBlobs();
    const text = textWith(name, 199_994, 230_000);
    const page = Array.from({ length: 40 }, () => `${name}, `.repeat(6));
    const pdf = createPdf(Array.from({ length: 70 }, () => page));
    const urlOf = async (bytes: Buffer): Promise<string> =>
      blobPath + (await blobs.put(bytes, "application/octet-stream"));
    const [url, pdfUrl] = [await urlOf(Buffer.from(text)), await urlOf(pdf)];
    const { parts } = await renderMessageParts(
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
      { capabilities: fullCapabilities, blobs, vault },
    );
    expect(parts).toHaveLength(3);
    for (const part of parts)
      expect(containsPartOf(vault.mask(JSON.stringify(part)), name)).toBe(false);
    const plain = await extractPdfTextCached("hash", pdf);
    expect(containsPartOf(vault.mask(JSON.stringify(plain)), name)).toBe(true);
  });
});

test("values learned at a cut are stored before any part of the result", async () => {
  const long = defineTool({ name: "fetch", description: "", run: () => "w ".repeat(20_000) });
  for (const isFull of [false, true]) {
    const { agent } = scriptedAgent([[{ call: "fetch", args: {} }]], { tools: [long] });
    const log = new MemoryLog();
    const logged: string[] = [];
    const truncationGuard: TruncationGuard = {
      cutBefore: (_text, index) => index - 7,
      async flush() {
        logged.push(await readLogText({ log, id: started.id }));
        if (isFull) throw new Error("the disk is full");
      },
    };
    const started = await start(
      agent,
      { chat_id: "chat" },
      { log, truncationGuardFor: () => truncationGuard },
    );
    const { view } = await waitForEnd(started);
    expect(logged).toHaveLength(1);
    expect(logged.join()).not.toContain("w w ");
    const expected = isFull ? "could not be stored: the disk is full" : "w w w";
    expect(getItemText(filterResults(view.output)[0])).toContain(expected);
  }
});

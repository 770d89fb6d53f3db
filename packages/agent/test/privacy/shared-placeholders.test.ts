import {
  createMaskedModel,
  createMaskedTool,
  defineTool,
  type ToolContext,
} from "@deltawire/agent";
import type { PrivacyField } from "@deltawire/tasks/chats";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { scriptedModel } from "../scripted-model.ts";
import { everyKind, MemoryPlaceholders, newVault } from "./private-texts.ts";

const emails: readonly PrivacyField[] = [{ kind: "email" }];
const signal = new AbortController().signal;

/** One process that answers in a chat. The others use the same store. */
function startProcess(store: MemoryPlaceholders, fields = emails) {
  const vault = newVault(fields, store.stored);
  /** Returns what the provider receives. May be called again while a request is being sent. */
  const send = async (input: string): Promise<string> => {
    const upstream = scriptedModel([]);
    const model = createMaskedModel(upstream, vault, store);
    for await (const batch of model.stream({ input }, signal)) void batch;
    const [request] = upstream.requests;
    if (typeof request?.input !== "string") throw new Error("the provider received no text");
    return request.input;
  };
  return { vault, send };
}

describe("two processes that mask one chat", () => {
  test("never use one placeholder for two values", async () => {
    const store = new MemoryPlaceholders();
    const [one, two] = [startProcess(store), startProcess(store)];
    const sent = await Promise.all([one.send("ada@example.org"), two.send("bob@example.org")]);
    expect(sent.toSorted()).toEqual(["{{EMAIL_1_x7f3}}", "{{EMAIL_2_x7f3}}"]);
    const later = newVault(emails, store.stored);
    expect(sent.map((text) => later.unmask(text))).toEqual(["ada@example.org", "bob@example.org"]);
  });

  test("never use two placeholders for one value", async () => {
    const store = new MemoryPlaceholders();
    const [one, two] = [startProcess(store), startProcess(store)];
    const [first, second] = await Promise.all([
      one.send("ada@example.org"),
      two.send("bob@example.org ada@example.org"),
    ]);
    expect(second.split(" ")[1]).toBe(first);
    expect(store.stored.map(({ value }) => value).toSorted()).toEqual([
      "ada@example.org",
      "bob@example.org",
    ]);
  });

  test("keep a placeholder that both have chosen for one value", async () => {
    const store = new MemoryPlaceholders();
    const [one, two] = [startProcess(store), startProcess(store)];
    const [first, second] = await Promise.all([
      one.send("bob@example.org ada@example.org"),
      two.send("eve@example.org ada@example.org"),
    ]);
    expect(first).toBe("{{EMAIL_1_x7f3}} {{EMAIL_2_x7f3}}");
    expect(second).toBe("{{EMAIL_3_x7f3}} {{EMAIL_2_x7f3}}");
    expect(store.stored).toHaveLength(3);
  });

  test("know the values that the other one has learned", async () => {
    const store = new MemoryPlaceholders();
    const [one, two] = [startProcess(store, everyKind), startProcess(store, everyKind)];
    await one.send("password: hunter2secret");
    expect(await two.send("I said hunter2secret.")).toBe("I said {{PASSWORD_1_x7f3}}.");
  });

  test("pass a tool that receives placeholders only those that are valid", async () => {
    const store = new MemoryPlaceholders();
    const [one, two] = [startProcess(store), startProcess(store)];
    await one.send("ada@example.org");
    const received: unknown[] = [];
    const echo = defineTool({
      name: "echo",
      description: "Echoes.",
      unmask: false,
      run: (input) => void received.push(input),
    });
    await createMaskedTool(echo, two.vault, store).run({ to: "bob@example.org" }, context);
    expect(received).toEqual([{ to: "{{EMAIL_2_x7f3}}" }]);
  });

  test("agree on all placeholders, in whichever order they send their text", async () => {
    const address = fc.integer({ min: 1, max: 6 }).map((number) => `person${number}@example.org`);
    const texts = fc.array(
      fc.record({
        process: fc.integer({ min: 0, max: 2 }),
        words: fc.array(address, { minLength: 1 }),
      }),
      { maxLength: 12 },
    );
    await fc.assert(
      fc.asyncProperty(texts, async (requests) => {
        const store = new MemoryPlaceholders();
        const processes = [0, 1, 2].map(() => startProcess(store));
        await Promise.all(
          requests.map(async ({ process, words }) => {
            const masked = await processes[process]?.send(words.join(" "));
            expect(newVault(emails, store.stored).unmask(masked ?? "")).toBe(words.join(" "));
          }),
        );
        for (const key of ["placeholder", "value"] as const)
          expect(new Set(store.stored.map((entry) => entry[key])).size).toBe(store.stored.length);
      }),
    );
  });
});

const context = { signal } as ToolContext;

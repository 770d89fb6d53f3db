import { setImmediate } from "node:timers/promises";
import { MemoryBlobs } from "@deltawire/agent";
import fc from "fast-check";
import { blobPath } from "@deltawire/tasks";
import type { ChatVariable } from "@deltawire/tasks/chats";
import { describe, expect, test } from "vitest";
import { chatVariables } from "../../src/chats/chat-variables.ts";
import { variablesGroup } from "../../src/chats/variables-group.ts";
import { runTool, toolOf } from "../tool-context.ts";

/** As a store keeps them: a name once in a chat, a call and its part once. */
class MemoryVariables extends MemoryBlobs {
  isFull = false;
  readonly #chats = new Map<string, ChatVariable[]>();

  async variables(chatId: string): Promise<ChatVariable[]> {
    await setImmediate();
    return [...(this.#chats.get(chatId) ?? [])];
  }

  async addVariable(chatId: string, variable: ChatVariable): Promise<ChatVariable> {
    await setImmediate();
    if (this.isFull) throw new Error("disk full");
    const all = this.#chats.get(chatId) ?? [];
    this.#chats.set(chatId, all);
    const { call_id, of, name } = variable;
    const known = all.find((one) => one.call_id === call_id && one.of === of);
    if (known !== undefined) return known;
    if (all.some((one) => one.name === name)) throw new Error(`the name ${name} is taken`);
    all.push(variable);
    return variable;
  }
}

const now = (): string => "2026-11-15T10:00:00.000Z";
const from = (callId: string, tool = "fetch_page", part = "result") => ({ callId, tool, part });

describe("the variables of a chat", () => {
  test("are named after their tool and counted, those of arguments with their property", async () => {
    const variables = chatVariables(new MemoryVariables(), "chat_1", now);
    expect(await variables.keep("one", from("call_1"))).toBe("fetch_page_1");
    expect(await variables.keep("two", from("call_2"))).toBe("fetch_page_2");
    expect(await variables.keep("three", from("call_3", "write_file", "content"))).toBe(
      "write_file_content_1",
    );
    expect(await variables.keep("four", from("call_4", "mcp-tool", "a b{}.c"))).toBe(
      "mcp-tool_a_b_c_1",
    );
    expect(await variables.read("fetch_page_2")).toBe("two");
    expect(await variables.read("fetch_page_3")).toBeUndefined();
    expect(await variables.list()).toContainEqual({
      name: "write_file_content_1",
      tool: "write_file",
      part: "content",
      length: 5,
    });
  });

  test("are blobs in the store, with their length and time", async () => {
    const store = new MemoryVariables();
    await chatVariables(store, "chat_1", now).keep("grün", from("call_1"));
    const [kept] = await store.variables("chat_1");
    expect(kept).toMatchObject({ length: 4, created_at: now(), call_id: "call_1", of: "result" });
    const blob = await store.get(kept?.url.slice(blobPath.length) ?? "");
    expect(Buffer.from(blob?.bytes ?? []).toString("utf8")).toBe("grün");
  });

  test("of one call and part are kept once, also by a later process", async () => {
    const store = new MemoryVariables();
    const name = await chatVariables(store, "chat_1", now).keep("one", from("call_1"));
    const later = chatVariables(store, "chat_1", now);
    expect(await later.keep("another", from("call_1"))).toBe(name);
    expect(await later.read(name)).toBe("one");
    expect(await later.list()).toHaveLength(1);
  });

  test("belong to one chat", async () => {
    const store = new MemoryVariables();
    const name = await chatVariables(store, "chat_1", now).keep("one", from("call_1"));
    expect(await chatVariables(store, "chat_2", now).read(name)).toBeUndefined();
  });

  test("never share a name when many are kept at once, by several hands", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.record({ call: fc.nat(5), tool: fc.constantFrom("a", "a_1"), hand: fc.nat(1) }),
          { maxLength: 8 },
        ),
        async (keeps) => {
          const store = new MemoryVariables();
          const hands = [0, 1].map(() => chatVariables(store, "chat_1", now));
          const names = await Promise.all(
            keeps.map(async ({ call, tool, hand }) =>
              hands[hand]?.keep(`${tool} ${call}`, from(`${tool} call_${call}`, tool)),
            ),
          );
          for (const [at, { call, tool }] of keeps.entries())
            expect(await hands[0]?.read(names[at] ?? "")).toBe(`${tool} ${call}`);
        },
      ),
      { numRuns: 50 },
    );
  });

  test("are not kept where the store fails, and the next one is", async () => {
    const store = new MemoryVariables();
    const variables = chatVariables(store, "chat_1", now);
    store.isFull = true;
    await expect(variables.keep("one", from("call_1"))).rejects.toThrow("disk full");
    store.isFull = false;
    expect(await variables.keep("one", from("call_1"))).toBe("fetch_page_1");
  });
});

describe("the group of variables", () => {
  test("lists them with their lengths and where they are from", async () => {
    const variables = chatVariables(new MemoryVariables(), "chat_1", now);
    const group = variablesGroup(variables);
    expect(await runTool(group, "list_variables", {})).toBe("There are no variables yet.");
    await variables.keep("x".repeat(5000), from("call_1"));
    expect(await runTool(group, "list_variables", {})).toBe(
      "The variables are:\n- fetch_page_1: 5000 characters, result of fetch_page",
    );
  });

  test("reads one to its end, page by page, as the notes at the cuts say", async () => {
    const variables = chatVariables(new MemoryVariables(), "chat_1", now);
    const group = variablesGroup(variables);
    const whole = "a😀".repeat(30_000);
    await variables.keep(whole, from("call_1"));
    let input: unknown = { name: "fetch_page_1" };
    let read = "";
    for (let pages = 0; input !== undefined && pages < 10; pages += 1) {
      const page = String(await runTool(group, "read_variable", input));
      const [note = "", next] = /\n\[cut: .*read_variable (\{.*\})\]$/.exec(page) ?? [];
      read += page.slice(0, page.length - note.length);
      input = next === undefined ? undefined : JSON.parse(next);
    }
    expect(read).toBe(whole);
  });

  test("tells which there are when a name is unknown", async () => {
    const variables = chatVariables(new MemoryVariables(), "chat_1", now);
    await variables.keep("x", from("call_1"));
    await expect(
      runTool(variablesGroup(variables), "read_variable", { name: "y" }),
    ).rejects.toThrow(/no variable "y".*\n- fetch_page_1/);
  });

  test("has two short rules, asks nobody, and says how a variable is passed on", () => {
    const group = variablesGroup(chatVariables(new MemoryVariables(), "chat_1", now));
    expect(group.rules).toContain("{{var:NAME}}");
    expect(group.rules.split("\n")).toHaveLength(2);
    for (const name of ["list_variables", "read_variable"])
      expect(toolOf(group, name)).toMatchObject({
        effect: "pure",
        approval: { call: "auto", result: "never" },
      });
  });
});

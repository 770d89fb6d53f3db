import { describe, expect, test } from "vitest";
import {
  decideQuestion,
  waitForAnswerEnd,
  createTestChat,
  sendAndWait,
  listSentItems,
} from "../../../../test/chats/chat-helpers.ts";
import { chatFixture } from "./chat-fixture.ts";
import { longToolOutput, createOfficeTools } from "../../../../test/chats/office-tools.ts";

const withOffice = { tool_groups: ["office"] };

describe("a long result", () => {
  test("is stored as a variable, listed, read in pages, and passed on completely to another tool", async () => {
    const { group, calls: toolCalls } = createOfficeTools();
    const fixture = await chatFixture({
      groups: [group],
      script: [
        [{ call: "fetch_long", args: {} }],
        [{ call: "list_variables", args: {} }],
        [{ call: "read_variable", args: { name: "fetch_long_1", offset: 40_000 } }],
        [{ call: "say", args: { text: "<{{var:fetch_long_1}}>" } }],
        [{ text: "Passed on." }],
      ],
    });
    const chat = await createTestChat(fixture, withOffice);
    const answer = await sendAndWait(fixture, chat, "Fetch and say it");
    expect(answer.status).toBe("completed");
    const results = listSentItems(fixture).filter((one) => one.startsWith("=>"));
    expect(results[0]).toMatch(
      /continue with read_variable.*\[saved as \{\{var:fetch_long_1\}\}\]/,
    );
    expect(results[1]).toContain(`fetch_long_1: ${longToolOutput.length} characters`);
    expect(JSON.parse(results[2]?.slice(3) ?? "")).toBe(longToolOutput.slice(40_000));
    expect(toolCalls.at(-1)).toEqual({ tool: "say", input: { text: `<${longToolOutput}>` } });
    // The model sees its call as it wrote it.
    expect(listSentItems(fixture)).toContain('say {"text":"<{{var:fetch_long_1}}>"}');
    expect(answer.chain.calls.at(-1)?.arguments).toBe('{"text":"<{{var:fetch_long_1}}>"}');
  });

  test("is available in the next turn, and after a restart of the gateway", async () => {
    const { group, calls: toolCalls } = createOfficeTools();
    const fixture = await chatFixture({
      files: true,
      groups: [group],
      script: [[{ call: "fetch_long", args: {} }], [{ text: "Fetched." }]],
    });
    const chat = await createTestChat(fixture, withOffice);
    await sendAndWait(fixture, chat, "Fetch");
    const later = await fixture.restartAfterKill({
      script: [[{ call: "say", args: { text: "{{var:fetch_long_1}}" } }], [{ text: "Said." }]],
    });
    await sendAndWait(later, chat, "Say it");
    expect(toolCalls.at(-1)?.input).toEqual({ text: longToolOutput });
  });

  test("that a user denied is not stored as a variable", async () => {
    const { group } = createOfficeTools({ show_first: () => longToolOutput });
    const fixture = await chatFixture({
      groups: [group],
      script: [
        [{ call: "show_first", args: {} }],
        [{ call: "list_variables", args: {} }],
        [{ text: "Nothing." }],
      ],
    });
    const chat = await createTestChat(fixture, withOffice);
    const sent = await fixture.chats.send(chat, { text: "Show" });
    await decideQuestion(fixture, sent, "deny");
    await waitForAnswerEnd(fixture, sent);
    expect(listSentItems(fixture).at(-1)).toBe('=> "There are no variables yet."');
    expect(await fixture.store.listVariables(chat)).toEqual([]);
  });
});

describe("a variable reference", () => {
  test("in fetched content is not expanded when the content is passed to another tool", async () => {
    const trap = `${"x".repeat(5000)} {{var:say_1}}`;
    const { group, calls: toolCalls } = createOfficeTools({
      fetch_long: () => trap,
      say: ({ text }) => (text === "secret" ? longToolOutput : "said"),
    });
    const fixture = await chatFixture({
      groups: [group],
      script: [
        [{ call: "say", args: { text: "secret" } }],
        [{ call: "fetch_long", args: {} }],
        [{ call: "say", args: { text: "{{var:fetch_long_1}}" } }],
        [{ text: "Done." }],
      ],
    });
    const chat = await createTestChat(fixture, withOffice);
    await sendAndWait(fixture, chat, "Go");
    expect((await fixture.store.listVariables(chat)).map(({ name }) => name)).toEqual([
      "say_1",
      "fetch_long_1",
    ]);
    expect(toolCalls.at(-1)?.input).toEqual({ text: trap });
  });

  test("in a user message stays unchanged", async () => {
    const { group } = createOfficeTools();
    const fixture = await chatFixture({
      groups: [group],
      script: [[{ call: "fetch_long", args: {} }], [{ text: "." }], [{ text: "." }]],
    });
    const chat = await createTestChat(fixture, withOffice);
    await sendAndWait(fixture, chat, "Fetch");
    await sendAndWait(fixture, chat, "What is {{var:fetch_long_1}}?");
    expect(listSentItems(fixture).at(-1)).toBe("user: What is {{var:fetch_long_1}}?");
  });

  test("to an unknown variable causes an error that lists the variables, and no tool runs", async () => {
    const { group, calls: toolCalls } = createOfficeTools();
    const fixture = await chatFixture({
      groups: [group],
      script: [
        [{ call: "fetch_long", args: {} }],
        [{ call: "say", args: { text: "{{var:nothing_7}}" } }],
        [{ text: "Oh." }],
      ],
    });
    const chat = await createTestChat(fixture, withOffice);
    const sent = await fixture.chats.send(chat, { text: "Go" });
    await waitForAnswerEnd(fixture, sent);
    expect(listSentItems(fixture).at(-1)).toMatch(/nothing_7[\s\S]*fetch_long_1/);
    expect(toolCalls.map(({ tool }) => tool)).toEqual(["fetch_long"]);
  });

  test("to a variable of another chat runs no tool", async () => {
    const { group, calls: toolCalls } = createOfficeTools();
    const fixture = await chatFixture({
      groups: [group],
      script: [
        [{ call: "fetch_long", args: {} }],
        [{ text: "." }],
        [{ call: "say", args: { text: "{{var:fetch_long_1}}" } }],
        [{ text: "." }],
      ],
    });
    await sendAndWait(fixture, await createTestChat(fixture, withOffice), "Fetch");
    const sent = await fixture.chats.send(await createTestChat(fixture, withOffice), {
      text: "Say",
    });
    await waitForAnswerEnd(fixture, sent);
    expect(toolCalls.map(({ tool }) => tool)).toEqual(["fetch_long"]);
  });
});

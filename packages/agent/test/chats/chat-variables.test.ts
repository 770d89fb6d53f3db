import { describe, expect, test } from "vitest";
import { decide, ended, newChat, sendAndEnd, told } from "../../../../test/chats/chat-steps.ts";
import { chatFixture } from "./chat-fixture.ts";
import { longText, office } from "../../../../test/chats/office.ts";

const withOffice = { tool_groups: ["office"] };

describe("a long result", () => {
  test("is kept under a name, listed, read in pages, and passed on whole to another tool", async () => {
    const { group, got } = office();
    const world = await chatFixture({
      groups: [group],
      script: [
        [{ call: "fetch_long", args: {} }],
        [{ call: "list_variables", args: {} }],
        [{ call: "read_variable", args: { name: "fetch_long_1", offset: 40_000 } }],
        [{ call: "say", args: { text: "<{{var:fetch_long_1}}>" } }],
        [{ text: "Passed on." }],
      ],
    });
    const chat = await newChat(world, withOffice);
    const answer = await sendAndEnd(world, chat, "Fetch and say it");
    expect(answer.status).toBe("completed");
    const results = told(world).filter((one) => one.startsWith("=>"));
    expect(results[0]).toMatch(/read on with read_variable.*\[kept as \{\{var:fetch_long_1\}\}\]/);
    expect(results[1]).toContain(`fetch_long_1: ${longText.length} characters`);
    expect(JSON.parse(results[2]?.slice(3) ?? "")).toBe(longText.slice(40_000));
    expect(got.at(-1)).toEqual({ tool: "say", input: { text: `<${longText}>` } });
    // What the model wrote is what it is told that it wrote.
    expect(told(world)).toContain('say {"text":"<{{var:fetch_long_1}}>"}');
    expect(answer.chain.calls.at(-1)?.arguments).toBe('{"text":"<{{var:fetch_long_1}}>"}');
  });

  test("is there in the next turn, and after the gateway was started again", async () => {
    const { group, got } = office();
    const world = await chatFixture({
      files: true,
      groups: [group],
      script: [[{ call: "fetch_long", args: {} }], [{ text: "Fetched." }]],
    });
    const chat = await newChat(world, withOffice);
    await sendAndEnd(world, chat, "Fetch");
    const later = await world.killed({
      script: [[{ call: "say", args: { text: "{{var:fetch_long_1}}" } }], [{ text: "Said." }]],
    });
    await sendAndEnd(later, chat, "Say it");
    expect(got.at(-1)?.input).toEqual({ text: longText });
  });

  test("that a person refused is no variable", async () => {
    const { group } = office({ show_first: () => longText });
    const world = await chatFixture({
      groups: [group],
      script: [
        [{ call: "show_first", args: {} }],
        [{ call: "list_variables", args: {} }],
        [{ text: "Nothing." }],
      ],
    });
    const chat = await newChat(world, withOffice);
    const sent = await world.chats.send(chat, { text: "Show" });
    await decide(world, sent, "deny");
    await ended(world, sent);
    expect(told(world).at(-1)).toBe('=> "There are no variables yet."');
    expect(await world.store.variables(chat)).toEqual([]);
  });
});

describe("a reference", () => {
  test("inside fetched content is not expanded, neither in a result nor on its way to another tool", async () => {
    const trap = `${"x".repeat(5000)} {{var:say_1}}`;
    const { group, got } = office({
      fetch_long: () => trap,
      say: ({ text }) => (text === "secret" ? longText : "said"),
    });
    const world = await chatFixture({
      groups: [group],
      script: [
        [{ call: "say", args: { text: "secret" } }],
        [{ call: "fetch_long", args: {} }],
        [{ call: "say", args: { text: "{{var:fetch_long_1}}" } }],
        [{ text: "Done." }],
      ],
    });
    const chat = await newChat(world, withOffice);
    await sendAndEnd(world, chat, "Go");
    expect((await world.store.variables(chat)).map(({ name }) => name)).toEqual([
      "say_1",
      "fetch_long_1",
    ]);
    expect(got.at(-1)?.input).toEqual({ text: trap });
  });

  test("in the user's words is the user's, and stays as it is", async () => {
    const { group } = office();
    const world = await chatFixture({
      groups: [group],
      script: [[{ call: "fetch_long", args: {} }], [{ text: "." }], [{ text: "." }]],
    });
    const chat = await newChat(world, withOffice);
    await sendAndEnd(world, chat, "Fetch");
    await sendAndEnd(world, chat, "What is {{var:fetch_long_1}}?");
    expect(told(world).at(-1)).toBe("user: What is {{var:fetch_long_1}}?");
  });

  test("to nothing is told to the model with what there is, and no tool runs", async () => {
    const { group, got } = office();
    const world = await chatFixture({
      groups: [group],
      script: [
        [{ call: "fetch_long", args: {} }],
        [{ call: "say", args: { text: "{{var:nothing_7}}" } }],
        [{ text: "Oh." }],
      ],
    });
    const chat = await newChat(world, withOffice);
    const sent = await world.chats.send(chat, { text: "Go" });
    await ended(world, sent);
    expect(told(world).at(-1)).toMatch(/nothing_7[\s\S]*fetch_long_1/);
    expect(got.map(({ tool }) => tool)).toEqual(["fetch_long"]);
  });

  test("of another chat is unknown", async () => {
    const { group, got } = office();
    const world = await chatFixture({
      groups: [group],
      script: [
        [{ call: "fetch_long", args: {} }],
        [{ text: "." }],
        [{ call: "say", args: { text: "{{var:fetch_long_1}}" } }],
        [{ text: "." }],
      ],
    });
    await sendAndEnd(world, await newChat(world, withOffice), "Fetch");
    const sent = await world.chats.send(await newChat(world, withOffice), { text: "Say" });
    await ended(world, sent);
    expect(got.map(({ tool }) => tool)).toEqual(["fetch_long"]);
  });
});

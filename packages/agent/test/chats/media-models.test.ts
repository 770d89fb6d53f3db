import type { Attachment } from "@deltawire/tasks/chats";
import { describe, expect, test } from "vitest";
import { newChat, refusedAndUnchanged, sendAndEnd } from "../../../../test/chats/chat-steps.ts";
import { chatFixture, type StoredChatFixture } from "./chat-fixture.ts";
import { mediaModels, pixel, stored } from "./media-models.ts";

const masked = { privacy: { enabled: true, fields: [{ kind: "email" as const }] } };
const painting = { script: () => [{ picture: pixel }], models: mediaModels };

interface Refused {
  what: string;
  model: "listener" | "retoucher";
  given: (world: StoredChatFixture) => Promise<Attachment>[];
  param: string;
  message: RegExp;
}

const link = async (kind: Attachment["kind"], filename: string): Promise<Attachment> => ({
  kind,
  filename,
  url: `https://example.org/${filename}`,
});

describe("what a model of media cannot do is refused before there is a slot", () => {
  test.each<Refused>([
    {
      what: "to write down two sounds",
      model: "listener",
      given: (world) => [
        stored(world, "audio", "a.mp3", "audio/mpeg"),
        stored(world, "audio", "b.mp3", "audio/mpeg"),
      ],
      param: "attachments",
      message: /one sound file, and there are 2: send each/,
    },
    {
      what: "to write down a sound that is only linked",
      model: "listener",
      given: () => [link("audio", "a.mp3")],
      param: "attachments[0].url",
      message: /"a\.mp3" is only linked.*attach the file itself/,
    },
    {
      what: "to write down a text that calls itself a sound",
      model: "listener",
      given: (world) => [
        stored(world, "image", "a.png", "image/png"),
        stored(world, "audio", "a.txt", "text/plain; charset=utf-8"),
      ],
      param: "attachments[1]",
      message: /"a\.txt" is no sound but text\/plain: attach a sound/,
    },
    {
      what: "to edit a picture that is only linked",
      model: "retoucher",
      given: (world) => [stored(world, "image", "a.png", "image/png"), link("image", "b.png")],
      param: "attachments[1].url",
      message: /"b\.png" is only linked.*attach the file itself/,
    },
    {
      what: "to edit a PDF that calls itself a picture",
      model: "retoucher",
      given: (world) => [stored(world, "image", "a.pdf", "application/pdf")],
      param: "attachments[0]",
      message: /"a\.pdf" is no picture but application\/pdf/,
    },
    {
      what: "to edit a picture that is made of text",
      model: "retoucher",
      given: (world) => [stored(world, "image", "a.svg", "image/svg+xml")],
      param: "attachments[0]",
      message: /no picture but image\/svg\+xml/,
    },
  ])("$what", async ({ model, given, param, message }) => {
    const world = await chatFixture(painting);
    const chat = await newChat(world);
    const attachments = await Promise.all(given(world));
    const send = () => world.chats.send(chat, { text: "Do it", model, attachments });
    expect(await refusedAndUnchanged(world, chat, send)).toMatchObject({
      code: "cannot_send",
      param,
      message: expect.stringMatching(message),
    });
  });

  test("to edit the last picture of the chat, if that is only linked", async () => {
    const world = await chatFixture({ ...painting, script: () => [{ text: "I see." }] });
    const chat = await newChat(world);
    await sendAndEnd(world, chat, "Look", { attachments: [await link("image", "a.png")] });
    await expect(
      world.chats.send(chat, { text: "Greener", model: "retoucher" }),
    ).rejects.toMatchObject({ code: "cannot_send", param: "attachments" });
  });

  test("and a recording of a browser, which says that it is a video, is a sound", async () => {
    const world = await chatFixture({ ...painting, script: () => [{ text: "Hello" }] });
    const chat = await newChat(world);
    const attachments = [await stored(world, "audio", "a.webm", "video/webm")];
    const { status } = await sendAndEnd(world, chat, "", { model: "listener", attachments });
    expect(status).toBe("completed");
  });
});

describe("people are told what a model of media", () => {
  const everything = async (world: StoredChatFixture) => ({
    attachments: [
      await stored(world, "image", "a.png", "image/png"),
      await stored(world, "audio", "a.mp3", "audio/mpeg"),
      await stored(world, "file", "a.pdf", "application/pdf"),
    ],
    contexts: [{ kind: "page" as const, title: "News", text: "It rained." }],
  });
  const context = 'context "News"';
  const [image, audio, pdf] = ['picture "a.png"', 'sound "a.mp3"', 'file "a.pdf"'];

  test.each([
    ["painter", [context, image, audio, pdf], []],
    ["retoucher", [context, audio, pdf], [image]],
    ["listener", [context, image, pdf], [audio]],
    ["speaker", [context, image, audio, pdf], []],
  ])("does not get, and what nothing can be masked in: %s", async (model, left, sent) => {
    const world = await chatFixture(painting);
    const given = await everything(world);
    const plain = await sendAndEnd(world, await newChat(world), "Do it", { model, ...given });
    const leftOut = left.map((what) => expect.stringContaining(`The ${what} was left out: `));
    expect(plain.notices).toEqual(leftOut);
    const chat = await newChat(world, masked);
    const { notices } = await sendAndEnd(world, chat, "Do it", { model, ...given });
    const asItIs = sent.map((what) => expect.stringContaining(`The ${what} is sent as it is: `));
    expect(notices).toEqual([...leftOut, ...asItIs]);
  });

  test("gets nothing beside: then there is nothing to tell", async () => {
    const world = await chatFixture(painting);
    const { notices } = await sendAndEnd(world, await newChat(world), "A dot", {
      model: "painter",
    });
    expect(notices).toEqual([]);
  });

  test("has made before, when it goes out again unmasked or is kept from a model that does not see", async () => {
    const world = await chatFixture({
      script: ({ model }) => [
        model === "talker" || model === "blind" ? { text: "A dot." } : { picture: pixel },
      ],
      models: { ...mediaModels, blind: { images: false } },
    });
    const chat = await newChat(world, masked);
    await sendAndEnd(world, chat, "A dot", { model: "painter" });
    const asItIs =
      "The picture from earlier in this chat is sent as it is: nothing in a picture can be masked.";
    const edited = await sendAndEnd(world, chat, "Greener", { model: "retoucher" });
    expect(edited.notices).toEqual([asItIs]);
    expect((await sendAndEnd(world, chat, "What is it?")).notices).toEqual([asItIs]);
    const { notices } = await sendAndEnd(world, chat, "Sure?", { model: "blind" });
    expect(notices).toEqual([
      "The picture from earlier in this chat was left out: this model does not see pictures.",
    ]);
    await world.chats.edit(chat, [{ type: "settings", patch: { privacy: null } }]);
    expect((await sendAndEnd(world, chat, "And now?")).notices).toEqual([]);
  });
});

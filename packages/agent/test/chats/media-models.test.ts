import type { Attachment } from "@deltawire/tasks/chats";
import { describe, expect, test } from "vitest";
import {
  createTestChat,
  expectRejectedUnchanged,
  sendAndWait,
} from "../../../../test/chats/chat-helpers.ts";
import { chatFixture, type StoredChatFixture } from "./chat-fixture.ts";
import { mediaModels, pixelBase64, storeAttachment } from "./media-models.ts";

const withPrivacy = { privacy: { enabled: true, fields: [{ kind: "email" as const }] } };
const options = { script: () => [{ image: pixelBase64 }], models: mediaModels };

interface RejectedRequest {
  what: string;
  model: "listener" | "retoucher";
  given: (fixture: StoredChatFixture) => Promise<Attachment>[];
  param: string;
  message: RegExp;
}

const link = async (kind: Attachment["kind"], filename: string): Promise<Attachment> => ({
  kind,
  filename,
  url: `https://example.org/${filename}`,
});

describe("a media model rejects before a placeholder is created", () => {
  test.each<RejectedRequest>([
    {
      what: "transcribing two audio files",
      model: "listener",
      given: (fixture) => [
        storeAttachment(fixture, "audio", "a.mp3", "audio/mpeg"),
        storeAttachment(fixture, "audio", "b.mp3", "audio/mpeg"),
      ],
      param: "attachments",
      message: /only one audio file can be transcribed at a time, got 2; send each/,
    },
    {
      what: "transcribing audio that is only a link",
      model: "listener",
      given: () => [link("audio", "a.mp3")],
      param: "attachments[0].url",
      message: /"a\.mp3" is a link.*attach the file/,
    },
    {
      what: "transcribing a text file declared as audio",
      model: "listener",
      given: (fixture) => [
        storeAttachment(fixture, "image", "a.png", "image/png"),
        storeAttachment(fixture, "audio", "a.txt", "text/plain; charset=utf-8"),
      ],
      param: "attachments[1]",
      message: /"a\.txt" is not an audio file but text\/plain; attach an audio/,
    },
    {
      what: "editing an image that is only a link",
      model: "retoucher",
      given: (fixture) => [
        storeAttachment(fixture, "image", "a.png", "image/png"),
        link("image", "b.png"),
      ],
      param: "attachments[1].url",
      message: /"b\.png" is a link.*attach the file/,
    },
    {
      what: "editing a PDF declared as an image",
      model: "retoucher",
      given: (fixture) => [storeAttachment(fixture, "image", "a.pdf", "application/pdf")],
      param: "attachments[0]",
      message: /"a\.pdf" is not an image file but application\/pdf/,
    },
    {
      what: "editing an SVG image",
      model: "retoucher",
      given: (fixture) => [storeAttachment(fixture, "image", "a.svg", "image/svg+xml")],
      param: "attachments[0]",
      message: /is not an image file but image\/svg\+xml/,
    },
  ])("$what", async ({ model, given, param, message }) => {
    const fixture = await chatFixture(options);
    const chat = await createTestChat(fixture);
    const attachments = await Promise.all(given(fixture));
    const send = () => fixture.chats.send(chat, { text: "Do it", model, attachments });
    expect(await expectRejectedUnchanged(fixture, chat, send)).toMatchObject({
      code: "cannot_send",
      param,
      message: expect.stringMatching(message),
    });
  });

  test("editing the last image of the chat if that is only a link", async () => {
    const fixture = await chatFixture({ ...options, script: () => [{ text: "I see." }] });
    const chat = await createTestChat(fixture);
    await sendAndWait(fixture, chat, "Look", { attachments: [await link("image", "a.png")] });
    await expect(
      fixture.chats.send(chat, { text: "Greener", model: "retoucher" }),
    ).rejects.toMatchObject({ code: "cannot_send", param: "attachments" });
  });
});

describe("a transcription model", () => {
  test("accepts a browser recording with a video type as audio", async () => {
    const fixture = await chatFixture({ ...options, script: () => [{ text: "Hello" }] });
    const chat = await createTestChat(fixture);
    const attachments = [await storeAttachment(fixture, "audio", "a.webm", "video/webm")];
    const { status } = await sendAndWait(fixture, chat, "", { model: "listener", attachments });
    expect(status).toBe("completed");
  });
});

describe("the notices of a media model", () => {
  const everything = async (fixture: StoredChatFixture) => ({
    attachments: [
      await storeAttachment(fixture, "image", "a.png", "image/png"),
      await storeAttachment(fixture, "audio", "a.mp3", "audio/mpeg"),
      await storeAttachment(fixture, "file", "a.pdf", "application/pdf"),
    ],
    contexts: [{ kind: "page" as const, title: "News", text: "It rained." }],
  });
  const context = 'context "News"';
  const [image, audio, pdf] = ['image "a.png"', 'audio file "a.mp3"', 'file "a.pdf"'];

  test.each([
    ["painter", [context, image, audio, pdf], []],
    ["retoucher", [context, audio, pdf], [image]],
    ["listener", [context, image, pdf], [audio]],
    ["speaker", [context, image, audio, pdf], []],
  ])(
    "name the attachments that %s does not receive, and those that it receives unmasked",
    async (model, left, sent) => {
      const fixture = await chatFixture(options);
      const given = await everything(fixture);
      const plain = await sendAndWait(fixture, await createTestChat(fixture), "Do it", {
        model,
        ...given,
      });
      const leftOut = left.map((what) => expect.stringContaining(`The ${what} was not sent: `));
      expect(plain.notices).toEqual(leftOut);
      const chat = await createTestChat(fixture, withPrivacy);
      const { notices } = await sendAndWait(fixture, chat, "Do it", { model, ...given });
      const asItIs = sent.map((what) => expect.stringContaining(`The ${what} is sent unmasked: `));
      expect(notices).toEqual([...leftOut, ...asItIs]);
    },
  );

  test("are empty if there are no attachments", async () => {
    const fixture = await chatFixture(options);
    const { notices } = await sendAndWait(fixture, await createTestChat(fixture), "A dot", {
      model: "painter",
    });
    expect(notices).toEqual([]);
  });

  test("name an earlier generated image that is sent unmasked or not sent", async () => {
    const fixture = await chatFixture({
      script: ({ model }) => [
        model === "talker" || model === "blind" ? { text: "A dot." } : { image: pixelBase64 },
      ],
      models: { ...mediaModels, blind: { images: false } },
    });
    const chat = await createTestChat(fixture, withPrivacy);
    await sendAndWait(fixture, chat, "A dot", { model: "painter" });
    const asItIs = "The image from earlier in this chat is sent unmasked: images cannot be masked.";
    const edited = await sendAndWait(fixture, chat, "Greener", { model: "retoucher" });
    expect(edited.notices).toEqual([asItIs]);
    expect((await sendAndWait(fixture, chat, "What is it?")).notices).toEqual([asItIs]);
    const { notices } = await sendAndWait(fixture, chat, "Sure?", { model: "blind" });
    expect(notices).toEqual([
      "The image from earlier in this chat was not sent: this model does not support images.",
    ]);
    await fixture.chats.edit(chat, [{ type: "settings", patch: { privacy: null } }]);
    expect((await sendAndWait(fixture, chat, "And now?")).notices).toEqual([]);
  });
});

import { createChatClient, type AnswerVersion } from "@deltawire/tasks/chats";
import { expect, test } from "vitest";
import { createSampleImage } from "@deltawire/demo";
import { listAnswers, waitUntilSettled } from "./chat-fixture.ts";
import { upstreamToml } from "./test-gateway.ts";
import { testGateway, testUpstream } from "./gateway-fixture.ts";

const sampleImage = createSampleImage("a house");

function findImageUrl({ output }: AnswerVersion): string {
  const [image] = output.flatMap((item) => (item.type === "message" ? item.block_list : []));
  if (image?.type !== "image") throw new Error(JSON.stringify(output));
  return image.image_url.url;
}

test("an image that the server returns as a link is stored and shown, and the next message can edit it", async () => {
  const upstream = await testUpstream(
    ({ headers }, response) =>
      void response.end(JSON.stringify({ data: [{ url: `http://${headers.host}/files/1.png` }] })),
    { listModels: (response) => void response.end(sampleImage) },
  );
  const gateway = await testGateway(
    `[chats]
titles = false
[models.draw]
use = "up/draw"
type = "image-gen"
[models.change]
use = "up/change"
type = "image-edit"
${upstreamToml("up", upstream.url, { api_key: "key-of-up-0123456789" })}`,
  );
  const client = createChatClient({ baseUrl: gateway.url, fetch });
  const { chat } = await client.create();
  const sendAndWait = async (text: string, model: string): Promise<AnswerVersion> => {
    const { version_id } = await client.send(chat.chat_id, { text, model });
    const settled = await waitUntilSettled(client, chat.chat_id);
    const answer = listAnswers(settled.chat).find((version) => version.version_id === version_id);
    if (answer?.status !== "completed") throw new Error(JSON.stringify(answer?.error));
    return answer;
  };
  const url = findImageUrl(await sendAndWait("a house", "draw"));
  expect(url).toMatch(/^\/api\/blobs\//);
  const shown = await fetch(gateway.url + url);
  expect(shown.headers.get("content-type")).toBe("image/png");
  expect(Buffer.from(await shown.arrayBuffer()).equals(sampleImage)).toBe(true);
  expect(findImageUrl(await sendAndWait("greener", "change"))).toBe(url);
  const edit = upstream.requests.at(-1);
  expect(edit?.path).toBe("/v1/images/edits");
  expect(edit?.bytes.includes(sampleImage)).toBe(true);
});

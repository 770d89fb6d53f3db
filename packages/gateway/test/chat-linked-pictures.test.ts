import { createChatClient, type AnswerVersion } from "@deltawire/tasks/chats";
import { expect, test } from "vitest";
import { pictureFor } from "@deltawire/demo";
import { answersOf, whenSettled } from "./chat-scene.ts";
import { upstreamToml } from "./running-gateway.ts";
import { aGateway, anUpstream } from "./scene.ts";

const house = pictureFor("a house");

function imageIn({ output }: AnswerVersion): string {
  const [image] = output.flatMap((item) => (item.type === "message" ? item.block_list : []));
  if (image?.type !== "image") throw new Error(JSON.stringify(output));
  return image.image_url.url;
}

test("a picture that its server only points at is stored, shown, and edited next", async () => {
  const upstream = await anUpstream(
    ({ headers }, response) =>
      void response.end(JSON.stringify({ data: [{ url: `http://${headers.host}/files/1.png` }] })),
    { listModels: (response) => void response.end(house) },
  );
  const gateway = await aGateway(
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
  const client = createChatClient({ base: gateway.url, fetch });
  const { chat } = await client.create();
  const answerOf = async (text: string, model: string): Promise<AnswerVersion> => {
    const { version_id } = await client.send(chat.chat_id, { text, model });
    const settled = await whenSettled(client, chat.chat_id);
    const answer = answersOf(settled.chat).find((version) => version.version_id === version_id);
    if (answer?.status !== "completed") throw new Error(JSON.stringify(answer?.error));
    return answer;
  };
  const url = imageIn(await answerOf("a house", "draw"));
  expect(url).toMatch(/^\/api\/blobs\//);
  const shown = await fetch(gateway.url + url);
  expect(shown.headers.get("content-type")).toBe("image/png");
  expect(Buffer.from(await shown.arrayBuffer()).equals(house)).toBe(true);
  expect(imageIn(await answerOf("greener", "change"))).toBe(url);
  const edit = upstream.requests.at(-1);
  expect(edit?.path).toBe("/v1/images/edits");
  expect(edit?.bytes.includes(house)).toBe(true);
});

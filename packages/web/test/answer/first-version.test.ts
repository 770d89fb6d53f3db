import { readFileSync } from "node:fs";
import type { Chat } from "@deltawire/tasks/chats";
import { expect, test } from "vitest";
import { groupNotices } from "../../src/answer/answer-notices.tsx";
import { noticeMessages, repairMessages } from "../../src/answer/notice-messages.ts";

/* A chat with dropped options, omitted attachments, repairs and retries, as the first version exported it. */
const file = JSON.parse(
  readFileSync(new URL("../../../gateway/test/first-version/chats.json", import.meta.url), "utf8"),
) as { chats: { chat: Chat }[] };

test("all notices and repairs in answers of the first version are translated", () => {
  const shown = new Set<string>();
  for (const { chat } of file.chats)
    for (const node of Object.values(chat.nodes))
      for (const version of node.kind === "answer" ? node.versions : []) {
        const { important, lossless } = groupNotices(version.notices, version.warnings ?? []);
        for (const notice of [...important, ...lossless])
          shown.add(
            notice.type === "repair"
              ? repairMessages.zh[notice.code]
              : noticeMessages.zh.translate(notice.text),
          );
      }
  expect([...shown]).toEqual([
    "未发送音频“a.wav”：此模型不支持音频。",
    "未发送文件“a.zip”：不是 UTF-8 文本、图片、音频或 PDF。",
    "demo 不支持 top_k，未发送。",
    "尝试了 2 次（最后使用的上游：demo）。请求被拒绝后已作调整。",
    "模型不接受之前的思考过程，因此未发回。",
    "demo/refuses-parameters 不支持 top_k，未发送。",
    "已达到工具轮数上限（1）：模型不再调用工具，直接作答。",
    "工具调用没有可用的 ID，已补上。",
    "上游一次性返回了回复，而不是流式返回。",
    "回复尚未完成，与上游的连接就中断了。",
    "回复中有一段无法解析，已略去。",
    "回复的最后一个事件没有正常结束，但内容完整。",
    "demo 不支持 temperature，未发送。",
  ]);
});

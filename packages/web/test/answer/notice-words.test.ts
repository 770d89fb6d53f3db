import { expect, test } from "vitest";
import { noticeWords } from "../../src/answer/note-words.ts";

test.each([
  [
    "enable_thinking is not taken by lab/clean: left out",
    "lab/clean 不接受 enable_thinking，已略去。",
  ],
  ["top_k, user are not taken by lab: left out", "lab 不接受 top_k, user，已略去。"],
  [
    "Left out: media. This model makes neither pictures nor sound.",
    "已略去：media。此模型不生成图片或声音。",
  ],
  [
    'Left out: the reasoning effort "max". This model knows low, high.',
    '已略去思考强度 "max"。此模型支持：low, high。',
  ],
  [
    'The picture "cat.png" was left out: this model does not see pictures.',
    "已略去图片“cat.png”：此模型不能看图。",
  ],
  [
    "The picture from earlier in this chat was left out: it has more than 20 MB.",
    "已略去此对话前面的图片：超过 20 MB。",
  ],
  [
    'The file "a.txt" was cut: only the first 100000 characters are sent.',
    "文件“a.txt”过长，只发送前 100000 个字符。",
  ],
  [
    'The file "a.pdf" was cut: only the first 3 of 9 pages are sent.',
    "文件“a.pdf”共 9 页，只发送前 3 页。",
  ],
  [
    "Of the file only the text is sent, so that it can be masked.",
    "文件只发送其中的文字：以便遮蔽其中的内容。",
  ],
  [
    "the limit of 1 round is reached: the model answers without more tool calls",
    "已达到限制（工具轮数 1）：模型不再调用工具，直接作答。",
  ],
  [
    "asked 3 times, the last time lab; learned: no_tools",
    "请求了 3 次，最后一次是 lab；学到：no_tools",
  ],
  ["the server's own words", "the server's own words"],
])("%s", (english, chinese) => {
  expect(noticeWords.zh.translate(english)).toBe(chinese);
  expect(noticeWords.en.translate(english)).toBe(english);
});

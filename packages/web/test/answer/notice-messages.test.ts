import { describe, expect, test } from "vitest";
import { formerNoticeReplacements } from "../../src/answer/former-notices.ts";
import { noticeMessages } from "../../src/answer/notice-messages.ts";

describe("a notice of the gateway is shown as a sentence and translated", () => {
  test.each([
    [
      "enable_thinking is not supported by lab/clean and was not sent",
      "enable_thinking is not supported by lab/clean and was not sent.",
      "lab/clean 不支持 enable_thinking，未发送。",
    ],
    [
      "temperature, user are not supported by lab and were not sent",
      "temperature, user are not supported by lab and were not sent.",
      "lab 不支持 temperature、user，未发送。",
    ],
    [
      "Not sent: media. This model does not generate images or audio.",
      "Not sent: media. This model does not generate images or audio.",
      "未发送：media。此模型不能生成图片或音频。",
    ],
    [
      'Not sent: reasoning effort "max". This model supports low, high.',
      'Not sent: reasoning effort "max". This model supports low, high.',
      '未发送思考强度 "max"。此模型支持：low、high。',
    ],
    [
      'The image "cat.png" was not sent: this model does not support images.',
      'The image "cat.png" was not sent: this model does not support images.',
      "未发送图片“cat.png”：此模型不支持图片。",
    ],
    [
      "The image from earlier in this chat was not sent: it is larger than 20 MB.",
      "The image from earlier in this chat was not sent: it is larger than 20 MB.",
      "未发送此对话前面的图片：超过 20 MB。",
    ],
    [
      'The image "a.bmp" was not sent: only PNG, JPEG, GIF and WebP images are supported, got image/bmp.',
      'The image "a.bmp" was not sent: only PNG, JPEG, GIF and WebP images are supported, got image/bmp.',
      "未发送图片“a.bmp”：只支持 PNG、JPEG、GIF、WebP 图片，此图片为 image/bmp。",
    ],
    [
      '"notes" was truncated: only the first 200000 characters are sent.',
      '"notes" was truncated: only the first 200000 characters are sent.',
      "“notes”过长，只发送前 200000 个字符。",
    ],
    [
      'The file "a.txt" was truncated: only the first 100000 characters are sent.',
      'The file "a.txt" was truncated: only the first 100000 characters are sent.',
      "文件“a.txt”过长，只发送前 100000 个字符。",
    ],
    [
      'The file "a.pdf" was truncated: only the first 3 of 9 pages are sent.',
      'The file "a.pdf" was truncated: only the first 3 of 9 pages are sent.',
      "文件“a.pdf”共 9 页，只发送前 3 页。",
    ],
    [
      "Only the text of the file is sent, so that it can be masked.",
      "Only the text of the file is sent, so that it can be masked.",
      "文件只发送其中的文字，以便遮盖隐私内容。",
    ],
    [
      'the skill "tables" no longer exists and was ignored',
      'The skill "tables" no longer exists and was ignored.',
      "技能“tables”已不存在，已忽略。",
    ],
    [
      "lab/m does not support tools; ignored tool groups: office, web",
      "lab/m does not support tools; ignored tool groups: office, web.",
      "lab/m 不支持工具，已忽略工具组：office、web。",
    ],
    [
      "the round limit of 1 was reached; the model answers without further tool calls",
      "The round limit of 1 was reached; the model answers without further tool calls.",
      "已达到工具轮数上限（1）：模型不再调用工具，直接作答。",
    ],
    [
      "3 attempts (last upstream: lab)",
      "3 attempts (last upstream: lab).",
      "尝试了 3 次（最后使用的上游：lab）。",
    ],
    [
      "3 attempts (last upstream: lab); learned: tool_choice, strict",
      "3 attempts (last upstream: lab). The request was adapted after it was rejected.",
      "尝试了 3 次（最后使用的上游：lab）。请求被拒绝后已作调整。",
    ],
    ["connection refused", "Connection refused.", "连接被拒绝。"],
    ["the server's own words", "The server's own words.", "The server's own words."],
    ["code_of_a_newer_gateway", "code_of_a_newer_gateway", "code_of_a_newer_gateway"],
  ])("%s", (notice, english, chinese) => {
    expect(noticeMessages.en.translate(notice)).toBe(english);
    expect(noticeMessages.zh.translate(notice)).toBe(chinese);
  });
});

/** Notices as the first version wrote them. */
const formerNotices = [
  [
    "top_k is not taken by lab: left out",
    "top_k is not supported by lab and was not sent.",
    "lab 不支持 top_k，未发送。",
  ],
  [
    "top_k, user are not taken by lab: left out",
    "top_k, user are not supported by lab and were not sent.",
    "lab 不支持 top_k、user，未发送。",
  ],
  [
    "Left out: media. This model makes neither pictures nor sound.",
    "Not sent: media. This model does not generate images or audio.",
    "未发送：media。此模型不能生成图片或音频。",
  ],
  [
    "Left out: temperature, top_p. Only media options are for a model of this kind.",
    "Not sent: temperature, top_p. This kind of model only supports media options.",
    "未发送：temperature、top_p。此类模型只支持媒体选项。",
  ],
  [
    'Left out: the reasoning effort "max". This model knows low, high.',
    'Not sent: reasoning effort "max". This model supports low, high.',
    '未发送思考强度 "max"。此模型支持：low、high。',
  ],
  [
    'The picture "cat.png" was left out: this model does not see pictures.',
    'The image "cat.png" was not sent: this model does not support images.',
    "未发送图片“cat.png”：此模型不支持图片。",
  ],
  [
    "The picture from earlier in this chat was left out: it has more than 20 MB.",
    "The image from earlier in this chat was not sent: it is larger than 20 MB.",
    "未发送此对话前面的图片：超过 20 MB。",
  ],
  [
    'The picture "a.bmp" was left out: models see PNG, JPEG, GIF and WebP, and not image/bmp.',
    'The image "a.bmp" was not sent: only PNG, JPEG, GIF and WebP images are supported, got image/bmp.',
    "未发送图片“a.bmp”：只支持 PNG、JPEG、GIF、WebP 图片，此图片为 image/bmp。",
  ],
  [
    "The picture was left out: its address has a private value in it.",
    "The image was not sent: its URL contains a private value.",
    "未发送图片：其 URL 含有隐私内容。",
  ],
  [
    'The picture "a.png" was left out: this model draws what the words say and takes nothing else.',
    'The image "a.png" was not sent: this model only accepts text.',
    "未发送图片“a.png”：此模型只接受文字。",
  ],
  [
    'The sound "a.ogg" was left out: models hear MP3 and WAV, and not audio/ogg.',
    'The audio file "a.ogg" was not sent: only MP3 and WAV audio is supported, got audio/ogg.',
    "未发送音频“a.ogg”：只支持 MP3、WAV 音频，此音频为 audio/ogg。",
  ],
  [
    'The sound "a.mp3" was left out: this model does not hear.',
    'The audio file "a.mp3" was not sent: this model does not support audio.',
    "未发送音频“a.mp3”：此模型不支持音频。",
  ],
  [
    'The sound "a.mp3" was left out: only sounds that are stored here can be sent.',
    'The audio file "a.mp3" was not sent: only uploaded audio files can be sent.',
    "未发送音频“a.mp3”：只能发送已上传的音频文件。",
  ],
  [
    'The sound "a.mp3" was left out: this model takes words and pictures and nothing else.',
    'The audio file "a.mp3" was not sent: this model only accepts text and images.',
    "未发送音频“a.mp3”：此模型只接受文字和图片。",
  ],
  [
    "The picture is sent as it is: nothing in a picture can be masked.",
    "The image is sent unmasked: images cannot be masked.",
    "图片按原样发送：其中的内容无法遮盖。",
  ],
  [
    'The sound "a.mp3" is sent as it is: nothing in a sound can be masked.',
    'The audio file "a.mp3" is sent unmasked: audio files cannot be masked.',
    "音频“a.mp3”按原样发送：其中的内容无法遮盖。",
  ],
  [
    'The file "a.pdf" was left out: this model takes a sound and words about it and nothing else.',
    'The file "a.pdf" was not sent: this model only accepts audio and text.',
    "未发送文件“a.pdf”：此模型只接受音频和文字。",
  ],
  [
    'The file "a.pdf" was left out: it is not stored any more.',
    'The file "a.pdf" was not sent: it is no longer stored.',
    "未发送文件“a.pdf”：已不再保存。",
  ],
  [
    'The file "a.pdf" was left out: only files that are stored here can be read.',
    'The file "a.pdf" was not sent: only uploaded files can be read.',
    "未发送文件“a.pdf”：只能读取已上传的文件。",
  ],
  [
    'The file "a.zip" was left out: it is neither text in UTF-8 nor a picture, a sound or a PDF.',
    'The file "a.zip" was not sent: it is not UTF-8 text, an image, audio or a PDF.',
    "未发送文件“a.zip”：不是 UTF-8 文本、图片、音频或 PDF。",
  ],
  [
    'The file "a.pdf" was left out: it is no PDF, or broken.',
    'The file "a.pdf" was not sent: it is not a valid PDF.',
    "未发送文件“a.pdf”：不是有效的 PDF。",
  ],
  [
    'The file "a.pdf" was left out: it takes too long to read.',
    'The file "a.pdf" was not sent: reading it takes too long.',
    "未发送文件“a.pdf”：读取时间过长。",
  ],
  [
    'The file "a.pdf" was left out: it takes too much memory to read.',
    'The file "a.pdf" was not sent: reading it takes too much memory.',
    "未发送文件“a.pdf”：读取占用内存过多。",
  ],
  [
    'The file "a.pdf" was left out: it has no text; perhaps its pages are pictures.',
    'The file "a.pdf" was not sent: it contains no text (its pages may be scanned images).',
    "未发送文件“a.pdf”：其中没有文字（页面可能是扫描图片）。",
  ],
  [
    'The file "a.pdf" was cut: only the first 3 of 9 pages are sent.',
    'The file "a.pdf" was truncated: only the first 3 of 9 pages are sent.',
    "文件“a.pdf”共 9 页，只发送前 3 页。",
  ],
  [
    '"notes" was cut: only the first 200000 characters are sent.',
    '"notes" was truncated: only the first 200000 characters are sent.',
    "“notes”过长，只发送前 200000 个字符。",
  ],
  [
    "Of the file only the text is sent, as this model does not take it as it is.",
    "Only the text of the file is sent, because this model does not accept PDF files.",
    "文件只发送其中的文字，因为此模型不接受 PDF 文件。",
  ],
  [
    'there is no skill "tables" any more: it was left out',
    'The skill "tables" no longer exists and was ignored.',
    "技能“tables”已不存在，已忽略。",
  ],
  [
    "lab/m cannot call tools: office was left out",
    "lab/m does not support tools; ignored tool groups: office.",
    "lab/m 不支持工具，已忽略工具组：office。",
  ],
  [
    "the limit of 3 rounds is reached: the model answers without more tool calls",
    "The round limit of 3 was reached; the model answers without further tool calls.",
    "已达到工具轮数上限（3）：模型不再调用工具，直接作答。",
  ],
  [
    "asked 3 times, the last time lab; learned: no_tools",
    "3 attempts (last upstream: lab). The request was adapted after it was rejected.",
    "尝试了 3 次（最后使用的上游：lab）。请求被拒绝后已作调整。",
  ],
  [
    "the upstream closed the stream before it had finished the reply",
    "The upstream closed the stream before the reply was finished.",
    "回复尚未完成，上游就关闭了连接。",
  ],
  [
    "the connection to the upstream broke before it had finished the reply",
    "The connection to the upstream was lost before the reply was finished.",
    "回复尚未完成，与上游的连接就中断了。",
  ],
  [
    "the upstream sent nothing for too long and had not finished the reply",
    "The upstream sent nothing for too long before the reply was finished.",
    "回复尚未完成，上游长时间没有发送数据。",
  ],
  ["asked 2 times", "2 attempts.", "尝试了 2 次。"],
  [
    "asked 1 time; learned: no_tools",
    "1 attempt. The request was adapted after it was rejected.",
    "尝试了 1 次。请求被拒绝后已作调整。",
  ],
] as const;

describe("a notice of the first version is shown in its current wording", () => {
  test.each(formerNotices)("%s", (notice, english, chinese) => {
    expect(noticeMessages.en.translate(notice)).toBe(english);
    expect(noticeMessages.zh.translate(notice)).toBe(chinese);
  });

  test("with replacements that are all needed for these notices", () => {
    const used = new Set<RegExp>();
    for (const [notice] of formerNotices) {
      let updated: string = notice;
      for (const [former, current] of formerNoticeReplacements) {
        const replaced = updated.replace(former, current);
        if (replaced !== updated) used.add(former);
        updated = replaced;
      }
    }
    expect(
      formerNoticeReplacements.map(([former]) => former).filter((former) => !used.has(former)),
    ).toEqual([]);
  });
});

import { describe, expect, test } from "vitest";
import { gatewayErrorMessages } from "../../src/text/gateway-error-translations.ts";

describe("an error message of the gateway", () => {
  test.each([
    [
      "the connection to the upstream was lost before the reply was finished",
      "The connection to the upstream was lost before the reply was finished.",
      "回复尚未完成，与上游的连接就中断了。",
    ],
    [
      'upstream "lab" at http://127.0.0.1:8000/v1 cannot be reached: connection refused; is it running, and is the address right?',
      'Upstream "lab" at http://127.0.0.1:8000/v1 cannot be reached: connection refused; is it running, and is the address right?',
      "无法连接到上游“lab”（http://127.0.0.1:8000/v1）：连接被拒绝。请检查它是否正在运行、地址是否正确。",
    ],
    [
      'upstream "lab" at http://lab/v1 cannot be reached: host name not found; is it running, and is the address right? (upstream "lab" is paused for 5 s after repeated failures)',
      'Upstream "lab" at http://lab/v1 cannot be reached: host name not found; is it running, and is the address right? (upstream "lab" is paused for 5 s after repeated failures).',
      "无法连接到上游“lab”（http://lab/v1）：找不到主机名。请检查它是否正在运行、地址是否正确。上游“lab”多次失败，暂停 5 秒。",
    ],
    [
      'model "m" of upstream "lab" is paused for 30 s after repeated failures; last error: out of memory',
      'Model "m" of upstream "lab" is paused for 30 s after repeated failures; last error: out of memory.',
      "上游“lab”的模型“m”多次失败，暂停 30 秒。最近一次错误：out of memory.",
    ],
    [
      'upstream "lab" is paused for 30 s after repeated failures',
      'Upstream "lab" is paused for 30 s after repeated failures.',
      "上游“lab”多次失败，暂停 30 秒。",
    ],
    [
      'upstream "lab" answered 503: still loading (model "m" of upstream "lab" is paused for 4 s after repeated failures)',
      'Upstream "lab" answered 503: still loading (model "m" of upstream "lab" is paused for 4 s after repeated failures).',
      "上游“lab”返回 503：still loading. 上游“lab”的模型“m”多次失败，暂停 4 秒。",
    ],
    ["connection refused", "Connection refused.", "连接被拒绝。"],
    [
      "http://lab/v1/models: connection refused",
      "http://lab/v1/models: connection refused.",
      "http://lab/v1/models：连接被拒绝。",
    ],
    [
      'unknown format: expected a chat file ({ "format": "x", … }) or OpenAI messages ([…] or { "messages": […] })',
      'Unknown format: expected a chat file ({ "format": "x", … }) or OpenAI messages ([…] or { "messages": […] }).',
      '无法识别的格式：应为对话文件 ({ "format": "x", … }) 或 OpenAI 消息 ([…] 或 { "messages": […] })。',
    ],
    [
      'upstream "lab" rejected the key (401); check LAB_API_KEY: invalid token',
      'Upstream "lab" rejected the key (401); check LAB_API_KEY: invalid token.',
      "上游“lab”拒绝了密钥（401）。请检查 LAB_API_KEY：invalid token.",
    ],
    [
      'upstream "lab" requires a key (401); set its api_key: no token',
      'Upstream "lab" requires a key (401); set its api_key: no token.',
      "上游“lab”需要密钥（401）。请设置其 api_key：no token.",
    ],
    [
      'upstream "lab" answered with a web page (text/html) instead of JSON; is base_url right?',
      'Upstream "lab" answered with a web page (text/html) instead of JSON; is base_url right?',
      "上游“lab”返回了网页，而不是 JSON。请检查 base_url 是否正确。",
    ],
    [
      'upstream "lab" failed without an error message',
      'Upstream "lab" failed without an error message.',
      "上游“lab”失败，但没有说明原因。",
    ],
    [
      'unknown upstream "zai": ZAI_API_KEY was not set when the gateway started; set it and restart the gateway, or configure the upstream',
      'Unknown upstream "zai": ZAI_API_KEY was not set when the gateway started; set it and restart the gateway, or configure the upstream.',
      "未知上游“zai”：网关启动时未设置 ZAI_API_KEY。请设置后重启网关，或配置该上游。",
    ],
    [
      'unknown model "gtp" (did you mean lab/gpt?). GET /v1/models lists all names. The model list of slow is not available; "upstream/model" always works.',
      'Unknown model "gtp" (did you mean lab/gpt?). GET /v1/models lists all names. The model list of slow is not available; "upstream/model" always works.',
      "未知模型“gtp”。你要找的是 lab/gpt 吗？所有名称见 GET /v1/models。无法获取 slow 的模型列表，仍可使用“上游/模型”的形式。",
    ],
    [
      'unknown agent "writer" (did you mean writers?); select another in the chat settings',
      'Unknown agent "writer" (did you mean writers?); select another in the chat settings.',
      "未知智能体“writer”。你要找的是 writers 吗？请在对话设置中另选一个。",
    ],
    [
      "there is no image to edit; attach one, or generate one in this chat first",
      "There is no image to edit; attach one, or generate one in this chat first.",
      "没有可编辑的图片。请先添加一张，或在此对话中生成一张。",
    ],
    [
      "the chat would be 9 bytes long, but the limit is 8; continue in a new chat, or delete messages",
      "The chat would be 9 bytes long, but the limit is 8; continue in a new chat, or delete messages.",
      "对话将达到 9 字节，超过上限 8 字节。请新建对话继续，或删除一些消息。",
    ],
    [
      "the answer is still running; stop it first",
      "The answer is still running; stop it first.",
      "回答仍在进行，请先停止。",
    ],
    [
      "the history is too long, and the model returned no summary of it",
      "The history is too long, and the model returned no summary of it.",
      "历史过长，模型没有返回摘要。",
    ],
  ])("is shown as a sentence and translated: %s", (message, english, chinese) => {
    expect(gatewayErrorMessages.en.formatError(message)).toBe(english);
    expect(gatewayErrorMessages.zh.formatError(message)).toBe(chinese);
  });

  test("is not changed where it quotes a provider, starts with a name or ends with a URL", () => {
    const { formatError } = gatewayErrorMessages.en;
    expect(formatError("gpt-4o is overloaded")).toBe("gpt-4o is overloaded.");
    expect(formatError("max_tokens is too large")).toBe("max_tokens is too large.");
    expect(formatError("Try again later!")).toBe("Try again later!");
    expect(formatError("see https://lab.example/status")).toBe("See https://lab.example/status");
    expect(formatError('{"detail": "no"}')).toBe('{"detail": "no"}');
    expect(gatewayErrorMessages.zh.formatError("模型过载")).toBe("模型过载。");
  });

  test("stays lowercase after a colon", () => {
    expect(gatewayErrorMessages.en.formatCause("the model is still loading")).toBe(
      "the model is still loading.",
    );
  });
});

import { defineWords } from "../words/words.ts";

export const partsWords = defineWords({
  en: { close: "Close", dismiss: "Dismiss", loading: "Loading", messages: "Messages" },
  zh: { close: "关闭", dismiss: "知道了", loading: "加载中", messages: "消息" },
});

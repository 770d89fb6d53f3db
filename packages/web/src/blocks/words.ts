import { defineWords } from "../words/words.ts";

export const blockWords = defineWords({
  en: {
    picture: (number: number) => `Picture ${number}`,
    enlarge: (name: string) => `${name}, enlarge`,
    pictureElsewhere: (host: string) => `A picture on ${host}`,
    soundElsewhere: (host: string) => `A sound on ${host}`,
    fileElsewhere: (host: string) => `A file on ${host}`,
    notShown: "It has an address that this page does not open.",
    sound: "Sound",
    transcript: "What is said in it",
    file: "File",
    download: (name: string) => `Download ${name}`,
    showAll: (size: string) => `Show all (${size})`,
    showLess: "Show less",
  },
  zh: {
    picture: (number: number) => `图片 ${number}`,
    enlarge: (name: string) => `${name}，放大`,
    pictureElsewhere: (host: string) => `${host} 上的图片`,
    soundElsewhere: (host: string) => `${host} 上的音频`,
    fileElsewhere: (host: string) => `${host} 上的文件`,
    notShown: "本页不会打开它的地址。",
    sound: "音频",
    transcript: "音频内容",
    file: "文件",
    download: (name: string) => `下载 ${name}`,
    showAll: (size: string) => `显示全部（${size}）`,
    showLess: "收起",
  },
});

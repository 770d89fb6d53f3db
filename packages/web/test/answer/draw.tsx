import type { ReactNode } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import type { AnswerVersion } from "@deltawire/tasks/chats";
import { Answer } from "../../src/answer/answer.tsx";
import { SceneContext } from "../../src/answer/scene.ts";
import { PageContext } from "../../src/hooks/use-page.ts";
import { createLazyMountScope, LazyMountContext } from "../../src/parts/lazy-mount.tsx";
import type { Page } from "../../src/state/page.ts";
import { LanguageContext } from "../../src/words/use-words.ts";
import type { Language } from "../../src/words/words.ts";
import { openTab } from "../node-world.ts";
import { sampleNode } from "./sample-answer.ts";

/** What is drawn first, within an answer of a page that no gateway answers. */
export function draw(node: ReactNode, language: Language = "en"): string {
  return drawOn(openTab(nobody), node, language);
}

export function drawAnswer(
  version: AnswerVersion,
  language: Language = "en",
  isContinued = false,
): string {
  const page = openTab(nobody);
  const chat = page.openChat("chat_1");
  const answer = (
    <Answer chat={chat} node={sampleNode(version)} version={version} isContinued={isContinued} />
  );
  return drawOn(page, answer, language);
}

const nobody = "http://127.0.0.1:1";

function drawOn(page: Page, node: ReactNode, language: Language): string {
  const scene = {
    chat: page.openChat("chat_1"),
    rootTaskId: "task_1",
    nodeId: "node_1",
    versionId: "version_1",
    isContinued: false,
  };
  return renderToStaticMarkup(
    <PageContext value={page}>
      <LanguageContext value={language}>
        <LazyMountContext value={createLazyMountScope()}>
          <SceneContext value={scene}>{node}</SceneContext>
        </LazyMountContext>
      </LanguageContext>
    </PageContext>,
  );
}

/** The words of markup, without its tags. */
export function wordsIn(markup: string): string {
  return markup
    .replaceAll(/<[^>]+>/g, " ")
    .replaceAll("&quot;", '"')
    .replaceAll("&#x27;", "'")
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&amp;", "&")
    .replaceAll(/\s+/g, " ")
    .trim();
}

import type { Ref } from "react";
import { chosenVersion, type AnswerNode, type UserNode } from "@deltawire/tasks/chats";
import { offeredVersions, switchOf, versionEdits } from "../chat/message-footer.tsx";
import { Button, IconButton } from "../parts/button.tsx";
import type { OpenChat } from "../state/page.ts";
import { useWords } from "../words/use-words.ts";
import { VersionBody, VersionFacts } from "./version-body.tsx";
import { treeWords } from "./words.ts";

interface SidePanelProps {
  chat: OpenChat;
  node: UserNode | AnswerNode | undefined;
  isSeparator: boolean;
  isChosen: boolean;
  onShowInChat: () => void;
  compareButton: Ref<HTMLButtonElement>;
  onCompareVersions: () => void;
  onChoose: () => void;
  onClose: () => void;
}

/** The message that is selected in the picture, whole. */
export function SidePanel(props: SidePanelProps) {
  const { chat, node, isSeparator, isChosen, compareButton, onShowInChat, onClose } = props;
  const words = useWords(treeWords);
  const version = node === undefined ? undefined : chosenVersion(node);
  return (
    <aside className="tree-panel" aria-label={words.panel}>
      <header className="tree-panel-head">
        <h2 className="one-line" dir="auto">
          {node === undefined
            ? words.separator
            : node.kind === "user"
              ? words.you
              : whoSays(node, words.byHand)}
        </h2>
        {node !== undefined && <VersionSteps chat={chat} node={node} />}
        <IconButton icon="close" label={words.close} onClick={onClose} />
      </header>
      <div className="tree-panel-actions">
        <Button kind="primary" small icon="go" onClick={onShowInChat}>
          {words.showInChat}
        </Button>
        {node !== undefined && (
          <Button small icon={isChosen ? "close" : "check"} onClick={props.onChoose}>
            {isChosen ? words.unchoose : words.choose}
          </Button>
        )}
        {node !== undefined && node.versions.length > 1 && (
          <Button ref={compareButton} small onClick={props.onCompareVersions}>
            {words.compareVersions}
          </Button>
        )}
      </div>
      {/* Long answers are scrolled by keys too. */}
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
      <div className="tree-panel-body" role="region" aria-label={words.panel} tabIndex={0}>
        {isSeparator && <p className="quiet">{words.separatorText}</p>}
        {node !== undefined && version !== undefined && (
          <>
            <VersionBody chat={chat} node={node} version={version} />
            <VersionFacts version={version} />
          </>
        )}
      </div>
    </aside>
  );
}

function whoSays(node: AnswerNode, byHand: string): string {
  const { agent, model, by } = chosenVersion(node);
  return by === "user" ? byHand : (agent ?? model ?? byHand);
}

function VersionSteps({ chat, node }: { chat: OpenChat; node: UserNode | AnswerNode }) {
  const words = useWords(treeWords);
  const place = switchOf(offeredVersions(node), node.version);
  if (place === undefined) return null;
  const show = (versionId: string | undefined) => {
    const state = chat.state.get();
    if (versionId !== undefined && state.is === "ready")
      void chat.change(...versionEdits(state.chat, node, versionId));
  };
  return (
    <span className="tree-steps" role="group" aria-label={words.versionOf(place.at, place.of)}>
      <IconButton
        icon="go"
        small
        className="tree-step-back"
        label={words.previousVersion}
        disabled={place.previous === undefined}
        onClick={() => show(place.previous)}
      />
      <span>
        {place.at}/{place.of}
      </span>
      <IconButton
        icon="go"
        small
        label={words.nextVersion}
        disabled={place.next === undefined}
        onClick={() => show(place.next)}
      />
    </span>
  );
}

import type { Ref } from "react";
import { getChosenVersion, type AnswerNode, type UserNode } from "@deltawire/tasks/chats";
import {
  getSelectableVersionIds,
  toSwitcherPosition,
  createVersionEdits,
} from "../chat/message-footer.tsx";
import { Button, IconButton } from "../ui/button.tsx";
import type { OpenChat } from "../state/app-store.ts";
import { useMessages } from "../messages/use-messages.ts";
import { VersionBody, VersionDetails } from "./version-body.tsx";
import { treeMessages } from "./messages.ts";

interface SidePanelProps {
  chat: OpenChat;
  node: UserNode | AnswerNode | undefined;
  isSeparator: boolean;
  isCompared: boolean;
  onShowInChat: () => void;
  compareButton: Ref<HTMLButtonElement>;
  onCompareVersions: () => void;
  onToggleCompared: () => void;
  onClose: () => void;
}

/** The complete text of the selected message. */
export function SidePanel(props: SidePanelProps) {
  const { chat, node, isSeparator, isCompared, compareButton, onShowInChat, onClose } = props;
  const t = useMessages(treeMessages);
  const version = node === undefined ? undefined : getChosenVersion(node);
  return (
    <aside className="tree-panel" aria-label={t.panel}>
      <header className="tree-panel-head">
        <h2 className="single-line" dir="auto">
          {node === undefined
            ? t.separator
            : node.kind === "user"
              ? t.you
              : formatAnswerAuthor(node, t.manual)}
        </h2>
        {node !== undefined && <VersionStepper chat={chat} node={node} />}
        <IconButton icon="close" label={t.close} onClick={onClose} />
      </header>
      <div className="tree-panel-actions">
        <Button kind="primary" small icon="chevron" onClick={onShowInChat}>
          {t.showInChat}
        </Button>
        {node !== undefined && (
          <Button small icon={isCompared ? "close" : "check"} onClick={props.onToggleCompared}>
            {isCompared ? t.removeFromComparison : t.addToComparison}
          </Button>
        )}
        {node !== undefined && node.versions.length > 1 && (
          <Button ref={compareButton} small onClick={props.onCompareVersions}>
            {t.compareVersions}
          </Button>
        )}
      </div>
      {/* Focusable, so that long answers can be scrolled by keyboard. */}
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
      <div className="tree-panel-body" role="region" aria-label={t.panel} tabIndex={0}>
        {isSeparator && <p className="muted">{t.separatorText}</p>}
        {node !== undefined && version !== undefined && (
          <>
            <VersionBody chat={chat} node={node} version={version} />
            <VersionDetails version={version} />
          </>
        )}
      </div>
    </aside>
  );
}

function formatAnswerAuthor(node: AnswerNode, manualLabel: string): string {
  const { agent, model, by } = getChosenVersion(node);
  return by === "user" ? manualLabel : (agent ?? model ?? manualLabel);
}

function VersionStepper({ chat, node }: { chat: OpenChat; node: UserNode | AnswerNode }) {
  const t = useMessages(treeMessages);
  const position = toSwitcherPosition(getSelectableVersionIds(node), node.version);
  if (position === undefined) return null;
  const show = (versionId: string | undefined) => {
    const state = chat.state.get();
    if (versionId !== undefined && state.status === "ready")
      void chat.change(...createVersionEdits(state.chat, node, versionId));
  };
  return (
    <span
      className="tree-steps"
      role="group"
      aria-label={t.versionOf(position.number, position.total)}
    >
      <IconButton
        icon="chevron"
        small
        className="tree-step-back"
        label={t.previousVersion}
        disabled={position.previous === undefined}
        onClick={() => show(position.previous)}
      />
      <span>
        {position.number}/{position.total}
      </span>
      <IconButton
        icon="chevron"
        small
        label={t.nextVersion}
        disabled={position.next === undefined}
        onClick={() => show(position.next)}
      />
    </span>
  );
}

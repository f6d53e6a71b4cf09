import { catalogue } from "../../i18n/catalogue.ts";

/** What people and the system do to a task. */
export const useActivityText = catalogue({
  en: {
    created: "created it",
    moved: "moved it",
    edited: "changed it",
    started: "started a run",
    start_failed: "could not start it",
    ended: "ended a run",
    asked: "asked",
    answered: "answered",
    scheduled: "changed the schedule",
    archived: "archived it",
    restored: "put it back",
    promoted: "made it a task agent",
    shared: "shared it",
  },
  "zh-CN": {
    created: "创建了任务",
    moved: "移动了任务",
    edited: "更改了任务",
    started: "启动了运行",
    start_failed: "未能启动",
    ended: "结束了运行",
    asked: "提问",
    answered: "作了回答",
    scheduled: "更改了定时",
    archived: "归档了任务",
    restored: "恢复了任务",
    promoted: "升级为任务智能体",
    shared: "分享了任务",
  },
});

/** The page of the HTML report: its style and its program. Both are texts; nothing is fetched from anywhere. */

/** Colours are dark on light or light on dark, with a contrast of at least 4.5. */
export const PAGE_STYLE = `
:root{color-scheme:light dark;--bg:#fff;--fg:#1b1f24;--dim:#57606a;--line:#d0d7de;--card:#f6f8fa;--good:#116329;--bad:#a40e26;--warn:#7d4e00;--link:#0550ae}
@media (prefers-color-scheme:dark){:root{--bg:#0d1117;--fg:#e6edf3;--dim:#a2abb5;--line:#30363d;--card:#161b22;--good:#56d364;--bad:#ff9492;--warn:#e3b341;--link:#79c0ff}}
*{box-sizing:border-box}body{margin:0;background:var(--bg);color:var(--fg);font:15px/1.5 system-ui,sans-serif}
main{max-width:1200px;margin:0 auto;padding:1.5rem}h1{font-size:1.4rem;margin:0 0 1rem}h2{font-size:1.1rem;margin:0;overflow-wrap:anywhere}
.cards{display:flex;flex-wrap:wrap;gap:.75rem;margin:0 0 1rem;padding:0;list-style:none}.cards li{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:.5rem 1rem}
.cards b{display:block;font-size:1.3rem}.cards span{color:var(--dim)}
form{display:flex;flex-wrap:wrap;gap:.75rem;align-items:end;margin:0 0 .75rem}label{display:flex;flex-direction:column;color:var(--dim);font-size:.85rem}
input,select,button{font:inherit;color:inherit;background:var(--bg);border:1px solid var(--line);border-radius:6px;padding:.35rem .6rem}button{cursor:pointer}
[role=status]{color:var(--dim)}#scroll{height:60vh;overflow:auto;border:1px solid var(--line);border-radius:8px;position:relative}
.head,.row{display:grid;grid-template-columns:7rem minmax(10rem,2fr) minmax(10rem,3fr) 6rem 7rem;gap:.5rem;align-items:center;padding:0 .75rem;height:36px;white-space:nowrap}
.head{position:sticky;top:0;background:var(--card);border-bottom:1px solid var(--line);z-index:1}.head button{border:0;background:none;padding:0;text-align:left;font-weight:600}
.row{position:absolute;left:0;right:0;border-bottom:1px solid var(--line)}.row>*{overflow:hidden;text-overflow:ellipsis}.row a{color:var(--link)}
.passed{color:var(--good)}.failed,.error,.timeout{color:var(--bad)}.skipped{color:var(--warn)}
dialog{width:min(960px,95vw);max-height:90vh;background:var(--bg);color:inherit;border:1px solid var(--line);border-radius:10px}
pre{white-space:pre-wrap;overflow-wrap:anywhere;background:var(--card);border:1px solid var(--line);border-radius:6px;padding:.6rem;max-height:24rem;overflow:auto}
.wide{overflow-x:auto;max-height:40vh;margin:0 0 1rem}table{border-collapse:collapse}td,th{border:1px solid var(--line);padding:.25rem .6rem;text-align:left}thead th{background:var(--card)}details{margin:0 0 1rem}
.bar{display:flex;gap:1rem;align-items:start;justify-content:space-between}
`;

/** Rows are drawn only where they are seen; a case is parsed when it is opened. */
export const PAGE_PROGRAM = `
"use strict";
const $=(id)=>document.getElementById(id);
const index=JSON.parse($("index").textContent);
const lines=$("rows").textContent.trim().split("\\n");
const H=36,box=$("scroll"),body=$("body");
let view=index.map((_r,i)=>i),key="",dir=1;
const cell=(tag,text,cls)=>{const e=document.createElement(tag);e.textContent=text;e.setAttribute("role","cell");if(cls)e.className=cls;return e};
function draw(){
  const from=Math.max(0,Math.floor(box.scrollTop/H)-5),to=Math.min(view.length,from+Math.ceil(box.clientHeight/H)+12);
  const rows=[];
  for(let at=from;at<to;at+=1){
    const [id,run,status,ms,say,device,copy]=index[view[at]];
    const row=document.createElement("div");row.className="row";row.setAttribute("role","row");row.setAttribute("aria-rowindex",at+2);row.style.top=at*H+"px";
    const name=cell("span","");const link=document.createElement("a");link.href="#case="+encodeURIComponent(id)+"&run="+run+(copy>1?"&copy="+copy:"");link.textContent=run>1?id+" (run "+run+")":id;name.append(link);
    row.append(cell("span",status,status),name,cell("span",say),cell("span",ms+" ms"),cell("span",device));
    rows.push(row);
  }
  body.style.height=view.length*H+"px";body.replaceChildren(...rows);
}
function filter(){
  const text=$("text").value.toLowerCase(),status=$("status").value,device=$("device").value;
  view=[];
  for(let i=0;i<index.length;i+=1){
    const r=index[i];
    if((!status||r[2]===status)&&(!device||r[5]===device)&&(!text||r[0].toLowerCase().includes(text)||r[4].toLowerCase().includes(text)))view.push(i);
  }
  if(key!==""){const k=Number(key);view.sort((a,b)=>{const x=index[a][k],y=index[b][k];return (x<y?-1:x>y?1:a-b)*dir})}
  $("count").textContent=view.length+" of "+index.length+" results";
  $("table").setAttribute("aria-rowcount",view.length+1);box.scrollTop=0;draw();
}
function part(title,value){
  if(value===undefined||value===null||value==="")return [];
  const h=document.createElement("h3");h.textContent=title;const p=document.createElement("pre");p.tabIndex=0;
  p.textContent=typeof value==="string"?value:JSON.stringify(value,null,2);return [h,p];
}
function open(){
  const want=new URLSearchParams(location.hash.slice(1)),id=want.get("case");
  if(id===null){if($("case").open)$("case").close();return}
  const at=index.findIndex((r)=>r[0]===id&&r[1]===Number(want.get("run")||1)&&(r[6]||1)===Number(want.get("copy")||1));
  if(at<0)return;
  const r=JSON.parse(lines[at]);
  $("title").textContent=r.id+" - "+r.status;
  $("parts").replaceChildren(...part("Error",r.error),...part("Warnings",r.warnings&&r.warnings.join("\\n")),...part("Input",r.input),...part("Output",r.output),...part("Expected",r.expected),
    ...part("Assertions",r.assertions),...part("Trace",r.trace),...part("Dialogue",r.metadata),...part("Usage",r.usage));
  if(!$("case").open)$("case").showModal();
}
let due=false;
box.addEventListener("scroll",()=>{if(!due){due=true;requestAnimationFrame(()=>{due=false;draw()})}});
for(const id of ["text","status","device"])$(id).addEventListener("input",filter);
$("form").addEventListener("submit",(e)=>e.preventDefault());
for(const b of document.querySelectorAll(".head button"))b.addEventListener("click",()=>{dir=key===b.dataset.key?-dir:1;key=b.dataset.key;
  for(const o of document.querySelectorAll(".head [role=columnheader]"))o.removeAttribute("aria-sort");b.parentElement.setAttribute("aria-sort",dir>0?"ascending":"descending");filter()});
$("case").addEventListener("close",()=>{if(location.hash)history.replaceState(null,"",location.pathname+location.search)});
addEventListener("hashchange",open);addEventListener("resize",draw);
filter();open();
`;
